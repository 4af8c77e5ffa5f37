import asyncio

import pytest

from openenv_core.server.silence import within


def test_what_comes_in_time_is_given() -> None:
    async def answer() -> str:
        return "here"

    assert asyncio.run(within(5.0, answer)) == "here"


def test_a_silence_is_none() -> None:
    assert asyncio.run(within(0.01, asyncio.Event().wait)) is None


def test_an_error_is_not_a_silence() -> None:
    async def fail() -> str:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        asyncio.run(within(5.0, fail))
