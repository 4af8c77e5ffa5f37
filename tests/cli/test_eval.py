"""``openenv eval`` with a model behind a real HTTP server: figures, faults, transcripts, refusals."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openenv_core.errors import ConfigurationError
from openenv_core.runtimes.process import ProcessRuntime
from openenv_core.training import environment_factory
from openenv_core.training.evaluation import ModelFailedError, evaluate
from openenv_core.training.finding import find_tools
from openenv_core.training.models import ApiModel
from openspiel_env.tools import CatchTools
from tests.cli.api import api, follow_the_ball
from tests.cli.terminal import COMMAND, surroundings


@pytest.fixture(scope="module")
def catch() -> Iterator[str]:
    """A server of Catch."""
    with ProcessRuntime("openspiel_env_server:spec") as runtime:
        yield runtime.base_url


def run(*words: str, folder: Path, code: int = 0, **variables: str) -> str:
    """The output of the command."""
    done = subprocess.run(
        [*COMMAND, "eval", *words],
        cwd=folder,
        env=surroundings(variables),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == code, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout if code == 0 else done.stdout + done.stderr


def end_at_once(body: dict[str, Any]) -> dict[str, Any]:
    """A model that calls no tool."""
    return {"role": "assistant", "content": "I would rather not."}


def test_a_name_is_served_and_played_by_a_model_behind_an_api(tmp_path: Path) -> None:
    with api(follow_the_ball, at_once=3) as served:
        words = ("openspiel_env_server:spec", "--model", served.base_url, "--episodes", "5", "--concurrency", "3")
        told = run(*words, "--json", "--transcripts", "games", folder=tmp_path, OPENAI_API_KEY="sesame")
    found = json.loads(told)
    assert (found["tools"], found["model"]) == ("CatchTools", "scripted")
    assert found["summary"]["solved"] == found["summary"]["counted"] == 5
    assert (found["summary"]["mean_reward"], found["summary"]["mean_steps"]) == (1.0, 9.0)
    assert [episode["seed"] for episode in found["episodes"]] == [0, 1, 2, 3, 4]
    assert served.together == 3
    assert served.headers["authorization"] == "Bearer sesame"
    assert {tool["function"]["name"] for tool in served.requests[0]["tools"]} == {"move", "stay"}
    assert served.requests[0]["messages"][0]["content"].startswith("You play Catch.")
    game = json.loads((tmp_path / "games" / "seed-3.json").read_text())
    assert game["messages"][-1]["content"] == "You caught the ball."
    assert game["messages"][1]["tool_calls"][0]["id"] == game["messages"][2]["tool_call_id"]


def test_a_url_is_played_where_it_is_and_shown_as_a_table(catch: str, tmp_path: Path) -> None:
    with api(end_at_once) as served:
        told = run(catch, "--model", served.base_url, "--episodes", "2", "-a", "rows=5", folder=tmp_path)
    assert "model, or limit of turns" in told
    assert "success rate" in told
    assert "0.000" in told


def test_an_api_that_fails_takes_the_episode_out_of_the_figures(catch: str) -> None:
    # The second question fails three times, which ends the first episode; all else is answered.
    with api(follow_the_ball, statuses=lambda number: 503 if number in (1, 2, 3) else 200) as served:
        model = ApiModel(served.base_url, wait_s=0.01)
        found = evaluate(environment_factory(CatchTools, catch), model, [7, 8], concurrency=1)
        model.close()
    first, second = found.episodes
    assert first.fault is not None
    assert (first.fault.reason, first.reward) == ("model", None)
    assert "503" in first.fault.message
    assert (second.fault, second.reward, second.success) == (None, 1.0, True)
    assert (found.summary()["counted"], found.summary()["mean_reward"]) == (1, 1.0)


def test_an_api_that_fails_once_is_asked_again(catch: str) -> None:
    with api(follow_the_ball, statuses=lambda number: 503 if number == 1 else 200) as served:
        model = ApiModel(served.base_url, wait_s=0.01)
        found = evaluate(environment_factory(CatchTools, catch), model, [7], concurrency=1)
        model.close()
    assert found.episodes[0].success
    assert len(served.requests) == 10


def answers(*calls: tuple[str, str]) -> Any:
    """A model that makes these calls in turn, then ends."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        if turn >= len(calls):
            return end_at_once(body)
        name, arguments = calls[turn]
        call = {"id": str(turn), "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    return answer


def test_wrong_calls_are_told_to_the_model_and_counted(catch: str) -> None:
    calls = ("leap", "{}"), ("move", "{direction"), ("move", '{"direction": "up"}'), ("move", "{}"), ("stay", "{}")
    with api(answers(*calls)) as served:
        model = ApiModel(served.base_url, "scripted")
        found = evaluate(environment_factory(CatchTools, catch), model, [1], concurrency=1)
        model.close()
    (episode,) = found.episodes
    told = [message["content"] for message in episode.messages if message["role"] == "tool"]
    assert "no tool 'leap'" in told[0]
    assert "not JSON" in told[1]
    assert "must be 'left' or 'right'" in told[2]
    assert "missing a required argument" in told[3]
    assert told[4].startswith("Row 2 of 10")
    assert (episode.invalid_actions, episode.steps, episode.finished, episode.success) == (4, 1, False, None)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("textarena_env_server:spec", "--model", "{api}"), "SudokuTools, WordleTools; name one with --tools"),
        (("openspiel_env_server:spec", "--tools", "ChessTools", "--model", "{api}"), "it has CatchTools"),
        (("openspiel_env_server:spec", "--model", "{api}x"), "has no such address or model"),
        (("openspiel_env_server:spec", "--model", "http://127.0.0.1:9/v1"), "gave no answer"),
        (("nothing_env", "--model", "{api}"), "no environment 'nothing_env' is installed"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    with api(end_at_once) as served:
        told = run(*(word.format(api=served.base_url) for word in words), folder=tmp_path, code=1)
    assert reason in told
    assert "Traceback" not in told


def test_pictures_go_to_an_api_in_a_message_of_the_users() -> None:
    pillow = pytest.importorskip("PIL.Image")
    picture = {"type": "image", "image": pillow.new("RGB", (4, 3))}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "go"}, picture]},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "tool", "tool_call_id": "1", "name": "look", "content": [picture, {"type": "text", "text": "there"}]},
    ]
    with api(end_at_once) as served:
        model = ApiModel(served.base_url, "scripted")
        model.complete(messages, [])
        model.close()
    first, _, tool, shown = served.requests[0]["messages"]
    assert first["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert tool["content"] == "there"
    assert (shown["role"], shown["content"][0]["type"]) == ("user", "image_url")


def test_an_answer_without_a_message_is_a_failure_of_the_model() -> None:
    with api(lambda body: []) as served:  # type: ignore[arg-type, return-value]
        model = ApiModel(served.base_url, "scripted", wait_s=0.01)
        with pytest.raises(ModelFailedError, match="something else than a message"):
            model.complete([{"role": "user", "content": "go"}], [])
        model.close()


def test_tools_are_found_by_name() -> None:
    assert find_tools("openspiel_env").__name__ == "CatchTools"
    assert find_tools("textarena_env", "WordleTools").__name__ == "WordleTools"
    assert find_tools("nothing", "openspiel_env.tools:CatchTools") is CatchTools
    for package, name, reason in (
        ("nothing", None, "no tools in nothing.tools"),
        ("nothing", "json:JSONDecoder", "no tool environment"),
        ("openspiel_env", "Chess", "has no Chess; it has CatchTools"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            find_tools(package, name)
