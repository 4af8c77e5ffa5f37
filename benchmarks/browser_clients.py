"""Clients of our browser server in a process of their own: one side of ``benchmarks.browser``."""

import asyncio
import time
from collections.abc import Sequence
from itertools import cycle
from typing import Any

from benchmarks.browser_actions import ACTIONS, TASK
from benchmarks.worker import serve
from browsergym_env import BrowserGymAction, BrowserGymEnv

__all__: list[str] = []

_clients: list[BrowserGymEnv] = []
_actions = [BrowserGymAction(action_str=action) for action in ACTIONS]


def open_sessions(url: str, sessions: int) -> None:
    """Open sessions, each with a first reset."""
    while len(_clients) < sessions:
        client = BrowserGymEnv(base_url=url, message_timeout_s=120.0)
        client.reset(seed=len(_clients), task_name=TASK, max_steps=100_000)
        _clients.append(client)


def close() -> None:
    """Close them all."""
    while _clients:
        _clients.pop().close()


def first(url: str, seed: int) -> float:
    """Seconds that a session takes from its opening to its first observation."""
    start = time.perf_counter()
    with BrowserGymEnv(base_url=url, message_timeout_s=120.0) as client:
        client.reset(seed=seed, task_name=TASK)
        return time.perf_counter() - start


def reset(seed: int, observe: Sequence[str] = ("axtree", "screenshot")) -> float:
    """Seconds of one reset of the first session."""
    start = time.perf_counter()
    _clients[0].reset(seed=seed, task_name=TASK, max_steps=100_000, observe=list(observe))
    return time.perf_counter() - start


def step(turn: int) -> float:
    """Seconds of one step of the first session."""
    start = time.perf_counter()
    observation = _clients[0].step(_actions[turn % len(_actions)]).observation
    spent = time.perf_counter() - start
    assert not observation.error, observation.error
    return spent


def frame() -> int:
    """Bytes of one observation as it travels."""
    return len(_clients[0].step(_actions[0]).observation.model_dump_json())


def rate(url: str, sessions: int, seconds: float) -> float:
    """Steps per second of so many sessions at once."""
    return asyncio.run(_rate(url, sessions, seconds))


async def _rate(url: str, sessions: int, seconds: float) -> float:
    count = 0

    async def play(seed: int) -> None:
        nonlocal count
        async with BrowserGymEnv.aio(base_url=url, message_timeout_s=120.0) as env:
            await env.reset(seed=seed, task_name=TASK, max_steps=100_000)
            await ready.wait()
            for action in cycle(_actions):
                if time.perf_counter() > end:
                    return
                await env.step(action)
                count += 1

    ready = asyncio.Barrier(sessions + 1)
    players = [asyncio.create_task(play(seed)) for seed in range(sessions)]
    end = time.perf_counter() + 3600.0
    await ready.wait()
    start = time.perf_counter()
    end = start + seconds
    await asyncio.gather(*players)
    return count / (time.perf_counter() - start)


if __name__ == "__main__":
    tasks: dict[str, Any] = {"open": open_sessions, "close": close, "reset": reset, "step": step}
    serve({**tasks, "first": first, "frame": frame, "rate": rate})
