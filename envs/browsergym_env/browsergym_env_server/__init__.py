"""Server of the browser environment."""

import re
from random import Random

from browsergym_env.models import BrowserGymAction, BrowserGymObservation
from browsergym_env_server.environment import BrowserGymEnvironment
from browsergym_env_server.showing import actions, render
from openenv_core.environment import EnvironmentSpec

__all__ = ["BrowserGymEnvironment", "spec"]

_VARIANTS = ("click-test", "click-button", "enter-text", "login-user", "click-checkboxes", "book-flight")
_FIELD = re.compile(r"\[(\d+)\] (?:textbox|searchbox)")
_NUMBERED = re.compile(r"\[(\d+)\]")


def _sample_action(observation: BrowserGymObservation, random: Random) -> BrowserGymAction:
    fields = _FIELD.findall(observation.axtree_txt)
    if fields and random.random() < 0.3:
        return BrowserGymAction(action_str=f"fill({random.choice(fields)!r}, 'hello')")
    elements = _NUMBERED.findall(observation.axtree_txt)
    return BrowserGymAction(action_str=f"click({random.choice(elements)!r})" if elements else "noop(0)")


spec = EnvironmentSpec(
    name="browsergym_env",
    factory=BrowserGymEnvironment,
    client="browsergym_env:BrowserGymEnv",
    description="MiniWoB tasks in a real browser: click, type and drag by accessibility tree or by picture.",
    max_sessions=8,
    demo="browsergym_env_server.demo:play",
    sample_action=_sample_action,
    example_action={"action_str": "click('13')"},
    page_options={"observe": ["axtree", "screenshot", "boxes"]},
    render=render,
    actions=actions,
    variants={task: {"BROWSERGYM_TASK_NAME": task} for task in _VARIANTS},
)
