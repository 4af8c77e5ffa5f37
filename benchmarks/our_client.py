"""What our own clients do in a second."""

import asyncio
from functools import partial

from benchmarks.worker import MESSAGE, Load, load_of, load_of_all, median_time, serve
from echo_env import EchoAction, EchoEnv

__all__: list[str] = []

_ACTION = EchoAction(message=MESSAGE)


def sync_step(url: str, seconds: float) -> float:
    """Median time of one step of a blocking client, in seconds."""
    with EchoEnv(base_url=url) as env:
        env.reset()
        return median_time(lambda: env.step(_ACTION), seconds)


def many_steps(url: str, sessions: int, seconds: float, server_pid: int) -> Load:
    """Steps of ``sessions`` awaiting clients, each on its own socket."""

    async def run() -> Load:
        clients = [EchoEnv.aio(base_url=url) for _ in range(sessions)]
        await asyncio.gather(*(client.reset() for client in clients))
        found = await load_of_all([partial(client.step, _ACTION) for client in clients], seconds, server_pid)
        await asyncio.gather(*(client.close() for client in clients))
        return found

    return asyncio.run(run())


def batch_steps(url: str, sessions: int, seconds: float, server_pid: int) -> Load:
    """Steps of ``sessions`` sessions that are stepped together over one socket."""
    with EchoEnv.batch(url, sessions) as batch:
        batch.reset()
        actions = [_ACTION] * sessions
        return load_of(lambda: batch.step(actions), seconds, server_pid, weight=sessions)


def open_one_by_one(url: str, seconds: float, server_pid: int) -> Load:
    """Sessions opened, reset and closed by blocking clients, one after another."""

    def session() -> None:
        with EchoEnv(base_url=url) as env:
            env.reset()

    return load_of(session, seconds, server_pid)


def open_many(url: str, lanes: int, seconds: float, server_pid: int) -> Load:
    """Sessions opened, reset and closed by awaiting clients, ``lanes`` at a time."""

    async def session() -> None:
        async with EchoEnv.aio(base_url=url) as env:
            await env.reset()

    return asyncio.run(load_of_all([session] * lanes, seconds, server_pid))


def open_batch(url: str, lanes: int, seconds: float, server_pid: int) -> Load:
    """Sessions opened, reset and closed, ``lanes`` together on one socket."""

    def sessions() -> None:
        with EchoEnv.batch(url, lanes) as batch:
            batch.reset()

    return load_of(sessions, seconds, server_pid, weight=lanes)


if __name__ == "__main__":
    measures = (sync_step, many_steps, batch_steps, open_one_by_one, open_many, open_batch)
    serve({measure.__name__: measure for measure in measures})
