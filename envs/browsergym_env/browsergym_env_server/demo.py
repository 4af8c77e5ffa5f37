"""A few MiniWoB tasks, solved by reading goal and accessibility tree, for the demonstration."""

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from browsergym_env import BrowserGymAction, BrowserGymEnv, BrowserGymObservation
from openenv_core.types import StepResult

__all__ = ["SOLVERS", "play", "play_task"]

Solver = Callable[[BrowserGymObservation], list[str]]


def _ids(observation: BrowserGymObservation, role: str, name: str | None = None) -> list[str]:
    """Ids of the elements of a role, in the order of the page; of those that have a name, where one is given."""
    ending = "" if name is None else f" {re.escape(repr(name))}"
    return re.findall(rf"^\s*\[(\w+)\] {role}{ending}", observation.axtree_txt, re.MULTILINE)


def _quoted(observation: BrowserGymObservation) -> list[str]:
    return re.findall(r'"([^"]*)"', observation.goal)


def _click_test(observation: BrowserGymObservation) -> list[str]:
    return [f"click({_ids(observation, 'button')[0]!r})"]


def _click_button(observation: BrowserGymObservation) -> list[str]:
    return [f"click({_ids(observation, 'button', _quoted(observation)[0])[0]!r})"]


def _fill_and_submit(observation: BrowserGymObservation) -> list[str]:
    """Tasks whose goal quotes what goes into the fields, in their order."""
    fields, submit = _ids(observation, "textbox"), _ids(observation, "button")[-1]
    filled = [f"fill({field!r}, {text!r})" for field, text in zip(fields, _quoted(observation), strict=True)]
    return [*filled, f"click({submit!r})"]


def _click_checkboxes(observation: BrowserGymObservation) -> list[str]:
    wanted = observation.goal.removeprefix("Select ").removesuffix(" and click Submit.").split(", ")
    boxes = [box for name in wanted for box in _ids(observation, "checkbox", name)]
    return [*(f"click({box!r})" for box in boxes), f"click({_ids(observation, 'button', 'Submit')[0]!r})"]


SOLVERS: dict[str, Solver] = {
    "click-test": _click_test,
    "click-button": _click_button,
    "enter-text": _fill_and_submit,
    "login-user": _fill_and_submit,
    "click-checkboxes": _click_checkboxes,
}
"""For each task, what solves it, given the first observation."""


def play_task(env: BrowserGymEnv, task: str, seed: int) -> Iterator[StepResult[BrowserGymObservation]]:
    """One episode of a task in :data:`SOLVERS`: the reset's result, then each step's."""
    result = env.reset(task_name=task, seed=seed, observe=["axtree", "screenshot"])
    yield result
    for action in SOLVERS[task](result.observation):
        yield env.step(BrowserGymAction(action_str=action))


def play(env: BrowserGymEnv) -> Iterator[StepResult[BrowserGymObservation]]:
    """Solve each of the tasks once and keep the pictures in a folder, whose name is told at the end."""
    folder = Path(tempfile.mkdtemp(prefix="openenv-browser-demo-"))
    for task in SOLVERS:
        for number, result in enumerate(play_task(env, task, seed=7)):
            picture = result.observation.screenshot
            if picture is not None:
                (folder / f"{task}-{number}.png").write_bytes(picture.png)
            yield result
    print(f"pictures of the pages: {folder}", file=sys.stderr)  # noqa: T201 - the demonstration's own output
