# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped"
"""What the public package's own clients do in a second."""

import asyncio
from functools import partial

from benchmarks.peer_echo import EchoAction, EchoEnv
from benchmarks.worker import MESSAGE, Load, load_of, load_of_all, median_time, serve

__all__: list[str] = []

_ACTION = EchoAction(message=MESSAGE)


def sync_step(url: str, seconds: float) -> float:
    """Median time of one step of a blocking client, in seconds."""
    with EchoEnv(base_url=url).sync() as env:
        env.reset()
        return median_time(lambda: env.step(_ACTION), seconds)


def many_steps(url: str, sessions: int, seconds: float, server_pid: int) -> Load:
    """Steps of ``sessions`` clients, each on its own socket."""

    async def run() -> Load:
        clients = [EchoEnv(base_url=url) for _ in range(sessions)]
        await asyncio.gather(*(client.reset() for client in clients))
        found = await load_of_all([partial(client.step, _ACTION) for client in clients], seconds, server_pid)
        await asyncio.gather(*(client.close() for client in clients))
        return found

    return asyncio.run(run())


def open_one_by_one(url: str, seconds: float, server_pid: int) -> Load:
    """Sessions opened, reset and closed by blocking clients, one after another."""

    def session() -> None:
        with EchoEnv(base_url=url).sync() as env:
            env.reset()

    return load_of(session, seconds, server_pid)


def open_many(url: str, lanes: int, seconds: float, server_pid: int) -> Load:
    """Sessions opened, reset and closed, ``lanes`` at a time."""

    async def session() -> None:
        async with EchoEnv(base_url=url) as env:
            await env.reset()

    return asyncio.run(load_of_all([session] * lanes, seconds, server_pid))


if __name__ == "__main__":
    serve({measure.__name__: measure for measure in (sync_step, many_steps, open_one_by_one, open_many)})
