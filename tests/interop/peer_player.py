# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped"
"""Plays scenes with clients of the public package and tells what happened; asked and answered as a worker.

The same scene is played against its own server and against ours; the two printed texts have to be equal.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from toy_peer_client import ToyAction, ToyEnv

from benchmarks.peer_echo import EchoAction, EchoEnv
from benchmarks.worker import serve
from openenv.core import GenericEnvClient

Happening = list[Any]
Make = Callable[[], Any]
Action = Callable[..., Any]


def _told(value: Any) -> Any:
    if hasattr(value, "observation"):
        observation = value.observation
        fields = observation if isinstance(observation, dict) else observation.model_dump()
        return [fields, value.reward, value.done, value.metadata]
    return value.model_dump() if hasattr(value, "model_dump") else value


def _error(error: Exception) -> Happening:
    kinds = [kind.__name__ for kind in (TimeoutError, ConnectionError, RuntimeError) if isinstance(error, kind)]
    return ["error", kinds or type(error).__name__, str(error)]


SCENES: dict[str, list[list[Any]]] = {
    "play": [
        ["reset", {"seed": 7, "episode_id": "e1", "difficulty": "hard"}],
        ["step", {"text": "hi", "times": 2}],
        ["step", {"text": "meta"}],
        ["step", {"text": "none"}],
        ["step", {"text": "é ☃"}],
        ["state", {}],
        ["step", {"text": "end"}],
        ["reset", {}],
        ["state", {}],
    ],
    "validation": [
        ["reset", {}],
        ["step", {"text": ""}],
        ["step", {"text": "hi", "times": 9}],
        ["step", {"text": "hi"}],
        ["state", {}],
    ],
    "echo": [
        ["reset", {"episode_id": "e1"}],
        ["step", {"message": "hello"}],
        ["step", {"message": ""}],
        ["state", {}],
        ["step", {"message": None}],
        ["step", {"message": "é ☃"}],
        ["reset", {"unknown": 1}],
        ["state", {}],
    ],
    "exception": [
        ["reset", {"difficulty": "boom"}],
        ["reset", {}],
        ["step", {"text": "boom"}],
        ["step", {"text": "hi"}],
        ["state", {}],
    ],
}


def _call(client: Any, action: Action, verb: str, options: dict[str, Any]) -> Any:
    if verb == "step":
        return client.step(action(**options))
    return client.reset(**options) if verb == "reset" else client.state()


def _play(make: Make, action: Action, scene: list[list[Any]]) -> list[Happening]:
    told: list[Happening] = []
    with make() as client:
        for verb, options in scene:
            try:
                told.append([verb, _told(_call(client, action, verb, options))])
            except Exception as error:  # noqa: BLE001  # whatever is raised is what is compared
                told.append(_error(error))
    return told


async def _play_async(make: Make, action: Action, scene: list[list[Any]]) -> list[Happening]:
    told: list[Happening] = []
    async with make() as client:
        for verb, options in scene:
            try:
                told.append([verb, _told(await _call(client, action, verb, options))])
            except Exception as error:  # noqa: BLE001  # whatever is raised is what is compared
                told.append(_error(error))
    return told


def _crowd(make: Make) -> list[Happening]:
    """Two clients at a server with room for one; then the first leaves."""
    first, second = make(), make()
    told: list[Happening] = [["first", _told(first.reset())]]
    try:
        second.reset()
    except Exception as error:  # noqa: BLE001  # whatever is raised is what is compared
        told.append(_error(error))
    told.append(["first", _told(first.state())])
    first.close()
    # The slot is given back a moment after the client has left.
    limit = time.monotonic() + 20
    while True:
        try:
            told.append(["second", _told(second.reset())])
            break
        except RuntimeError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.05)
    second.close()
    return told


# A typed action that breaks its own rules is what a client of an older version would send.
KINDS: dict[str, tuple[Any, Action]] = {
    "generic": (GenericEnvClient, dict),
    "typed": (ToyEnv, ToyAction.model_construct),
    "echo": (EchoEnv, EchoAction.model_construct),
}


def play(kind: str, manner: str, scene: str, url: str) -> list[Happening]:
    """Play a scene; ``manner`` is ``plain``, ``sync`` or ``async``."""
    client, action = KINDS[kind]
    if scene == "crowd":
        return _crowd(lambda: client(base_url=url))
    if manner == "async":
        return asyncio.run(_play_async(lambda: client(base_url=url), action, SCENES[scene]))
    # Used without a running event loop the same class blocks; `.sync()` is the other way to say it.
    make = (lambda: client(base_url=url)) if manner == "plain" else (lambda: client(base_url=url).sync())
    return _play(make, action, SCENES[scene])


if __name__ == "__main__":
    serve({"play": play})
