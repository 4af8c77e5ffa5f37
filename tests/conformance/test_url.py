"""A URL is checked over its protocol alone: our servers, servers of protocol version 1, servers that are none."""

import json
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest

from openenv_core import conformance
from openenv_core.client import GenericEnvClient
from openenv_core.conformance.report import Report, Verdict
from openenv_core.conformance.serving import serving
from openenv_core.errors import CapacityReachedError, ConnectionFailedError, OpenEnvError, UnauthorizedError
from openenv_core.server import create_app
from openenv_core.settings import ServerSettings
from tests.conformance import worlds

QUICK: dict[str, Any] = {"episodes": 2, "steps": 12}
HIDDEN = {"seed_two_processes", "close_idempotent", "process_random", "buffer_reuse", "models_round_trip"}
"""What a URL hides."""

App = Callable[..., Any]


def application(world: Any, *, sessions: int = 8, **settings: Any) -> App:
    """An application that hosts one of the worlds."""
    models = world.action_type(), world.observation_type(), world.state_type()
    limits = ServerSettings(max_sessions=sessions, **settings)
    app: App = create_app(world, *models[:2], state_cls=models[2], settings=limits)
    return app


class Replaced:
    """An application in which some pages are others."""

    def __init__(self, app: App, pages: dict[str, tuple[int, Any]]) -> None:
        self.app = app
        self.pages = pages

    async def __call__(self, scope: MutableMapping[str, Any], receive: App, send: App) -> None:
        page = self.pages.get(scope.get("path", ""))
        if page is None or scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, body = page
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]}
        )
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


class FirstVersion:
    """An application whose WebSocket knows version 1 of the protocol only, and says what it is told to say."""

    def __init__(self, app: App, mend: Callable[[dict[str, Any]], None] = lambda data: None) -> None:
        self.app = app
        self.mend = mend

    async def __call__(self, scope: MutableMapping[str, Any], receive: App, send: App) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return

        async def send_mended(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "websocket.send":
                reply = json.loads(message["text"])
                if reply["type"] == "observation":
                    self.mend(reply["data"])
                message = {**message, "text": json.dumps(reply)}
            await send(message)

        await self.app({**scope, "subprotocols": []}, receive, send_mended)


def failures(report: Report) -> dict[str, str]:
    """What failed, with the reasons."""
    return {result.name: result.reason for result in report.of(Verdict.FAIL)}


@pytest.mark.parametrize("version", [1, 2])
def test_a_good_server_passes_all_that_a_url_shows(version: int) -> None:
    app = application(worlds.Guess)
    with serving(FirstVersion(app) if version == 1 else app) as url:
        report = conformance.check(url, **QUICK)
    assert failures(report) == {}
    assert {result.name for result in report.of(Verdict.SKIP)} == HIDDEN
    assert report.target == url


def test_every_way_to_write_the_address_works() -> None:
    with serving(application(worlds.Guess)) as url:
        bare = url.removeprefix("http://")
        for address in (f"{url}/", f"ws://{bare}", f"ws://{bare}/ws", bare):
            assert conformance.check(address, only=["health", "plays"], **QUICK).ok


def test_a_server_that_ignores_its_seeds_is_caught() -> None:
    with serving(application(worlds.IgnoresSeed)) as url:
        found = failures(conformance.check(url, **QUICK))
    assert set(found) == {"seed_same_session", "seed_two_sessions"}


def test_a_server_whose_sessions_mix_is_caught() -> None:
    with serving(application(worlds.SecretOfTheClass)) as url:
        found = failures(conformance.check(url, **QUICK))
    assert set(found) == {"sessions_isolated", "concurrency"}


@pytest.mark.parametrize("version", [1, 2])
def test_a_server_for_one_session_is_checked_one_after_the_other(version: int) -> None:
    for world, expected in ((worlds.OneAtATime, set()), (worlds.CountsForAll, {"sessions_isolated"})):
        app = application(world, sessions=1)
        with serving(FirstVersion(app) if version == 1 else app) as url:
            report = conformance.check(url, only=["sessions_isolated", "concurrency"], **QUICK)
        assert set(failures(report)) == expected
        assert report["concurrency"].verdict is Verdict.SKIP


def test_options_that_are_dropped_are_caught() -> None:
    with serving(application(worlds.LosesAnswers)) as url:
        found = failures(conformance.check(url, only=["unknown_reset_option"], **QUICK))
    assert "reset(no_such_option=1) was accepted" in found["unknown_reset_option"]


def test_seeds_without_effect_cannot_be_told_from_no_chance_at_all() -> None:
    with serving(application(worlds.SameForEverySeed)) as url:
        result = conformance.check(url, only=["seed_matters"], **QUICK)["seed_matters"]
    assert result.verdict is Verdict.SKIP
    assert "nothing random was seen" in result.reason


@pytest.mark.parametrize(
    ("path", "page", "check", "words"),
    [
        ("/health", (503, {"status": "draining"}), "health", "answered 503"),
        ("/health", (200, {"status": "fine"}), "health", '"fine"'),
        ("/health", (200, []), "health", "answered 200"),
        ("/metadata", (500, {}), "metadata", "answered 500"),
        ("/metadata", (200, {"name": "x", "description": " "}), "metadata", "description is ' '"),
        ("/metadata", (200, {"description": "x"}), "metadata", "name is None"),
        ("/schema", (200, {"action": {"type": 5}, "observation": {}, "state": {}}), "schema", "schema of action"),
    ],
)
def test_a_page_that_is_not_well_formed_is_caught(path: str, page: tuple[int, Any], check: str, words: str) -> None:
    with serving(Replaced(application(worlds.Guess), {path: page})) as url:
        found = failures(conformance.check(url, only=["health", "metadata", "schema"]))
    assert set(found) == {check}
    assert words in found[check]


def _cut(data: dict[str, Any]) -> None:
    data["truncated"] = True


def _leave_schema(data: dict[str, Any]) -> None:
    data["observation"]["hint"] = "nearly"


def _pay_in_words(data: dict[str, Any]) -> None:
    data["reward"] = "much"


@pytest.mark.parametrize(
    ("mend", "check"),
    [(_cut, "result_agrees"), (_leave_schema, "observation_schema"), (_pay_in_words, "reward_finite")],
)
def test_a_server_of_version_1_that_sends_nonsense_is_caught(
    mend: Callable[[dict[str, Any]], None], check: str
) -> None:
    with serving(FirstVersion(application(worlds.Guess), mend)) as url:
        found = failures(conformance.check(url, only=[check], **QUICK))
    assert set(found) == {check}


@pytest.mark.parametrize(("status", "schemas"), [(404, {}), (200, []), (200, {"action": {}, "state": {}})])
def test_a_server_without_schemas_cannot_be_checked(status: int, schemas: Any) -> None:
    with (
        serving(Replaced(application(worlds.Guess), {"/schema": (status, schemas)})) as url,
        pytest.raises(OpenEnvError, match="not an OpenEnv server"),
    ):
        conformance.check(url)


def test_nobody_there_cannot_be_checked() -> None:
    with pytest.raises(ConnectionFailedError):
        conformance.check("http://127.0.0.1:9")


def test_a_server_that_asks_for_a_token_is_checked_with_it() -> None:
    with serving(application(worlds.Guess, token="open-sesame")) as url:
        assert conformance.check(url, token="open-sesame", only=["health", "schema", "plays"], **QUICK).ok
        with pytest.raises(UnauthorizedError):
            conformance.check(url, token="wrong")


def test_a_full_server_cannot_be_checked() -> None:
    with (
        serving(application(worlds.Guess, sessions=1)) as url,
        GenericEnvClient(base_url=url),
        pytest.raises(CapacityReachedError),
    ):
        conformance.check(url, wait_s=0.1)
