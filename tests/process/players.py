"""Clients that play episodes of the counting world and check everything that they see; and what disturbs them."""

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from openenv_core.errors import ConnectionFailedError
from openenv_core.types import StepResult
from tests.process.places import AsyncCount, Count, Journal, batch, replayed
from tests.process.worlds import CountAction, CountObservation
from tests.support.fault_proxy import Direction, FaultProxy

__all__ = ["PLAYERS", "Episode", "check_executed_once", "disturbed", "play_all"]

IMPATIENT = {"websocket_ping_interval_s": 0.3, "websocket_ping_timeout_s": 0.7}
"""A connection on which nothing arrives any more is given up after one second, not after forty."""


@dataclass(frozen=True)
class Episode:
    """What to do in an episode. ``values`` is what must come of it."""

    tag: str
    seed: int
    adds: list[int]
    fills: list[int]
    values: list[int] = field(default_factory=list)

    @classmethod
    def drawn(cls, tag: str, rng: random.Random, length: int) -> "Episode":
        """An episode left to chance: small and large observations."""
        seed, adds = rng.randrange(10**6), [rng.randrange(100) for _ in range(length)]
        fills = [rng.choice([0, 0, 0, 2000, 60_000]) for _ in range(length)]
        return cls(tag, seed, adds, fills, replayed(seed, adds))

    def action(self, index: int) -> CountAction:
        """The action of a step."""
        return CountAction(add=self.adds[index], fill="x" * self.fills[index])

    def check(self, index: int, result: StepResult[Any]) -> None:
        """Hold what a step, or the reset before the first, gave against what it must."""
        seen: CountObservation = result.observation
        assert (seen.count, seen.value, seen.start) == (index, self.values[index], self.values[0]), self.tag
        assert result.reward == (self.values[index] / 7 if index else None)
        assert len(seen.fill) == (self.fills[index - 1] if index else 0)


def _connected(connect: Callable[[], object]) -> None:
    """A connection that is cut while it is made is an error for who makes it; nothing was lost."""
    for _ in range(100):
        with contextlib.suppress(ConnectionFailedError):
            connect()
            return
        time.sleep(0.02)


def _play_blocking(base_url: str, episodes: list[Episode]) -> None:
    client = Count(base_url, **IMPATIENT)
    _connected(client.connect)
    for episode in episodes:
        episode.check(0, client.reset(seed=episode.seed, tag=episode.tag))
        for index in range(len(episode.adds)):
            episode.check(index + 1, client.step(episode.action(index)))
        assert client.state().value == episode.values[-1]
    client.close()


async def _play_awaiting(base_url: str, episodes: list[Episode]) -> None:
    client = AsyncCount(base_url, **IMPATIENT)
    for _ in range(100):
        with contextlib.suppress(ConnectionFailedError):
            await client.connect()
            break
    for episode in episodes:
        episode.check(0, await client.reset(seed=episode.seed, tag=episode.tag))
        for index in range(len(episode.adds)):
            episode.check(index + 1, await client.step(episode.action(index)))
        assert (await client.state()).value == episode.values[-1]
    await client.close()


def _play_batch(base_url: str, episodes: list[Episode]) -> None:
    together = 4
    client = batch(base_url, together, **IMPATIENT)
    _connected(client.connect)
    for start in range(0, len(episodes), together):
        row = episodes[start : start + together]
        indices = list(range(len(row)))
        options = [{"tag": episode.tag} for episode in row]
        results = client.reset([episode.seed for episode in row], options=options, indices=indices)
        for episode, result in zip(row, results, strict=True):
            episode.check(0, result)
        for index in range(len(row[0].adds)):
            results = client.step({place: episode.action(index) for place, episode in enumerate(row)})
            for episode, result in zip(row, results, strict=True):
                episode.check(index + 1, result)
    client.close()


PLAYERS: dict[str, Callable[[str, list[Episode]], None]] = {
    "blocking": _play_blocking,
    "awaiting": lambda url, episodes: asyncio.run(_play_awaiting(url, episodes)),
    "batch": _play_batch,
}


def play_all(base_url: str, each: int, length: int, rng: random.Random) -> list[Episode]:
    """Let a client of every kind play ``each`` episodes, all at the same time. Returns the episodes."""
    played: list[Episode] = []
    errors: list[BaseException] = []

    def play(kind: str, episodes: list[Episode]) -> None:
        try:
            PLAYERS[kind](base_url, episodes)
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the test
            errors.append(error)

    threads = []
    for kind in PLAYERS:
        episodes = [Episode.drawn(f"{kind}-{n}-{rng.random()}", rng, length) for n in range(each)]
        played += episodes
        threads.append(threading.Thread(target=play, args=(kind, episodes)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error
    return played


def check_executed_once(journal: Journal, episodes: list[Episode]) -> None:
    """The worlds have executed each step of each episode once, in order, and each reset once."""
    steps: dict[str, list[int]] = {}
    for entry in journal.entries("step"):
        steps.setdefault(entry["tag"], []).append(entry["add"])
    resets = [entry["tag"] for entry in journal.entries("reset")]
    for episode in episodes:
        assert steps[episode.tag] == episode.adds, episode.tag
        assert resets.count(episode.tag) == 1, episode.tag


@contextlib.contextmanager
def disturbed(proxy: FaultProxy, rng: random.Random, pause_s: float = 0.15) -> Iterator[None]:
    """Break connections in every way, at random moments about ``pause_s`` apart, for the length of a block."""
    stop = threading.Event()

    def disturb() -> None:
        while not stop.wait(rng.uniform(0.2, 1.8) * pause_s):
            _fault(proxy, rng, stop)
        proxy.thaw()
        proxy.delay_s, proxy.bytes_per_s = 0.0, None

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _fault(proxy: FaultProxy, rng: random.Random, stop: threading.Event) -> None:
    kind = rng.choice(["cut"] * 10 + ["amid"] * 20 + ["lose", "freeze", "delay", "slow"])
    direction = rng.choice(list(Direction))
    if kind == "cut":
        proxy.cut()
    elif kind == "amid":
        proxy.cut_after(int(10 ** rng.uniform(0, 4.5)), direction)
    elif kind == "lose":
        proxy.lose(direction)
    elif kind == "freeze":
        proxy.freeze()
        stop.wait(rng.uniform(0.1, 1.5))
        proxy.thaw()
    elif kind == "delay":
        proxy.delay_s = rng.choice([0.0, 0.005, 0.03])
    else:
        proxy.bytes_per_s = rng.choice([None, 2e5, 1e6])
