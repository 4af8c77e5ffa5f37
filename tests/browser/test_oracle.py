"""Equal to the real BrowserGym: what is seen first, what actions lead to, what is paid, how errors read."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from browsergym_env import BrowserGymObservation
from browsergym_env_server import BrowserGymEnvironment
from browsergym_env_server.settings import BrowserGymSettings

from .acting import act
from .conftest import Run
from .recordings import (
    DIFFERENCES,
    oracle,
    pruned_without_pseudo_elements,
    with_our_origin,
    without_heights,
    without_origin,
)

_DEFAULT_ACTIONS = (
    *("noop", "send_msg_to_user", "report_infeasible", "scroll", "fill", "select_option", "click", "dblclick"),
    *("hover", "press", "focus", "clear", "drag_and_drop", "go_back", "go_forward", "goto"),
    *("tab_close", "tab_focus", "new_tab"),
)
_SETTINGS = {
    "wide": BrowserGymSettings(),
    "default": replace(BrowserGymSettings(), actions=_DEFAULT_ACTIONS),
    "single": replace(BrowserGymSettings(), multiaction=False),
}


def _first_line(error: str) -> str:
    return without_origin(error.partition("\n")[0])


@pytest.fixture(scope="module")
def environment(run: Run) -> Iterator[BrowserGymEnvironment]:
    """One session for all: what an episode was like must not show in the next."""
    made = BrowserGymEnvironment(BrowserGymSettings())
    yield made
    run(made.close())


@pytest.mark.parametrize("task", oracle()["initial"])
def test_first_observation(run: Run, environment: BrowserGymEnvironment, task: str) -> None:
    async def main() -> None:
        for seed, recorded in oracle()["initial"][task].items():
            seen = await environment.reset(seed=int(seed), task_name=task, observe=["axtree", "screenshot", "html"])
            assert seen.goal == recorded["goal"]
            assert without_origin(seen.url) == recorded["url"]
            assert seen.focused_bid == recorded["focused_bid"]
            assert seen.screenshot is not None
            height, width, _ = recorded["screenshot"]
            assert seen.screenshot.size == (width, height)
            if "axtree" not in recorded.get("volatile", ()):
                assert without_origin(seen.axtree_txt) == recorded["axtree"]
                if "pruned_html" in recorded:
                    expected = pruned_without_pseudo_elements(recorded["pruned_html"])
                    assert without_heights(seen.pruned_html) == without_heights(expected)
            numbered = [bid for bid, role, name, *_ in recorded["elements"] if f"[{bid}] {role}" in recorded["axtree"]]
            assert all(f"[{bid}] " in seen.axtree_txt for bid in numbered)

    run(main())


def _episodes() -> Iterator[Any]:
    for episode in oracle()["episodes"]:
        marks = () if episode["seed"] == 0 else (pytest.mark.slow,)
        yield pytest.param(episode, id=f"{episode['task']}-{episode['seed']}", marks=marks)


@pytest.mark.parametrize("episode", list(_episodes()))
def test_solved_episode(run: Run, environment: BrowserGymEnvironment, episode: dict[str, Any]) -> None:
    async def main() -> None:
        seen = await environment.reset(seed=episode["seed"], task_name=episode["task"], observe=["axtree"])
        assert seen.goal == episode["goal"]
        tree = episode["first_axtree"]
        assert without_origin(seen.axtree_txt) == tree
        # The recording ends with a step after the end, which is refused here.
        for step in episode["steps"][:-1]:
            seen = await act(environment, step["action"])
            tree = tree if step["axtree"] is None else step["axtree"]
            _assert_equal(seen, step, tree)
        assert (seen.raw_reward, seen.success, seen.done) == (step["raw"], episode["solved"], True)

    run(main())


@pytest.mark.parametrize(
    "case",
    [case for case in oracle()["cases"] if case["actions_allowed"] in _SETTINGS],
    ids=lambda case: f"{case['task']}: {case['note'] or case['steps'][0]['action']}",
)
def test_corner_case(run: Run, case: dict[str, Any]) -> None:
    async def main() -> None:
        environment = BrowserGymEnvironment(_SETTINGS[case["actions_allowed"]])
        try:
            seen = await environment.reset(seed=case["seed"], task_name=case["task"], observe=["axtree"])
            tree = without_origin(seen.axtree_txt)
            for step in case["steps"]:
                seen = await act(environment, with_our_origin(step["action"]))
                tree = tree if step["axtree"] is None else step["axtree"]
                if (case["task"], step["action"]) in DIFFERENCES:
                    assert (seen.reward, seen.done) == (0.0, False)
                    if step["done"]:
                        return
                    continue
                _assert_equal(seen, step, tree)
                assert without_origin(seen.url) == step["url"]
                assert environment.state.messages == [text for _, text in step["messages"]]
                if seen.done:
                    return  # what is recorded after the end is refused here
        finally:
            await environment.close()

    run(main())


def _assert_equal(seen: BrowserGymObservation, step: dict[str, Any], tree: str) -> None:
    assert _first_line(seen.error) == _first_line(step["error"])
    assert (seen.reward, seen.done, seen.truncated) == (step["reward"], step["done"], False)
    assert without_origin(seen.axtree_txt) == tree
    assert seen.focused_bid == step["focused_bid"]
    assert seen.last_action_error == bool(step["error"])
