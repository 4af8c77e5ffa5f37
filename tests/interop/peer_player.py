# Runs in the environment of the public openenv package only, where none of it is typed.
# mypy: disable-error-code="import-not-found,import-untyped"
"""Plays a scene with a client of the public package: ``peer_player.py KIND SCENE URL`` prints what happened as JSON.

The same scene is played against its own server and against ours; the two printed texts have to be equal.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from openenv.core import GenericEnvClient
from toy_peer_client import ToyAction, ToyEnv

Happening = list[Any]
Make = Callable[[], Any]


def _action(client: Any, **fields: Any) -> Any:
    typed = isinstance(getattr(client, "async_client", client), ToyEnv)
    # A typed action that breaks its own rules is what a client of an older version would send.
    return ToyAction.model_construct(**fields) if typed else fields


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
    "exception": [
        ["reset", {"difficulty": "boom"}],
        ["reset", {}],
        ["step", {"text": "boom"}],
        ["step", {"text": "hi"}],
        ["state", {}],
    ],
}


def _play(make: Make, scene: list[list[Any]]) -> list[Happening]:
    told: list[Happening] = []
    with make() as client:
        for verb, options in scene:
            try:
                told.append([verb, _told(_call(client, verb, options))])
            except Exception as error:  # noqa: BLE001  # whatever is raised is what is compared
                told.append(_error(error))
    return told


async def _play_async(make: Make, scene: list[list[Any]]) -> list[Happening]:
    told: list[Happening] = []
    async with make() as client:
        for verb, options in scene:
            try:
                told.append([verb, _told(await _call(client, verb, options))])
            except Exception as error:  # noqa: BLE001  # whatever is raised is what is compared
                told.append(_error(error))
    return told


def _call(client: Any, verb: str, options: dict[str, Any]) -> Any:
    if verb == "step":
        return client.step(_action(client, **options))
    return client.reset(**options) if verb == "reset" else client.state()


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


KINDS: dict[str, Callable[[str], Make]] = {
    "generic": lambda url: lambda: GenericEnvClient(base_url=url),
    "generic_sync": lambda url: lambda: GenericEnvClient(base_url=url).sync(),
    "typed_sync": lambda url: lambda: ToyEnv(base_url=url).sync(),
    "generic_async": lambda url: lambda: GenericEnvClient(base_url=url),
    "typed_async": lambda url: lambda: ToyEnv(base_url=url),
}


def main(kind: str, scene: str, url: str) -> None:
    """Play and print."""
    make = KINDS[kind](url)
    if scene == "crowd":
        told = _crowd(make)
    elif kind.endswith("_async"):
        told = asyncio.run(_play_async(make, SCENES[scene]))
    else:
        told = _play(make, SCENES[scene])
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
