"""Many sessions at once: each sees and earns what it would alone."""

import asyncio
from random import Random

import pytest

from browsergym_env_server import BrowserGymEnvironment, spec
from browsergym_env_server.settings import BrowserGymSettings

from .conftest import Run

# Tasks that change by what the agent does alone: no timers, nothing animated.
_TASKS = (
    *("click-test-2", "click-checkboxes", "enter-text", "login-user", "click-option", "choose-list"),
    *("focus-text-2", "simple-arithmetic", "read-table", "guess-number", "click-button", "multi-layouts"),
)
_STEPS = 20

Seen = tuple[str, str, float | None, bool, str]


async def _play(number: int) -> list[Seen]:
    """What one session sees: 20 steps chosen by chance, over as many episodes as these take."""
    random = Random(number)
    environment = BrowserGymEnvironment(BrowserGymSettings())
    assert spec.sample_action is not None
    seen: list[Seen] = []
    try:
        task = _TASKS[number % len(_TASKS)]
        observation = await environment.reset(seed=number, task_name=task, observe=["axtree"])
        for step in range(_STEPS):
            if observation.done:
                observation = await environment.reset(seed=number + step, task_name=task, observe=["axtree"])
            observation = await environment.step(spec.sample_action(observation, random))
            told = (observation.goal, observation.axtree_txt, observation.reward, observation.done, observation.error)
            seen.append(told)
    finally:
        await environment.close()
    return seen


@pytest.mark.timeout(300)
@pytest.mark.parametrize("sessions", [8, pytest.param(32, marks=pytest.mark.slow)])
def test_sessions_do_not_disturb_each_other(run: Run, sessions: int) -> None:
    async def main() -> None:
        together = await asyncio.gather(*(_play(number) for number in range(sessions)))
        for number, seen in enumerate(together):
            assert len(seen) == _STEPS
            assert seen == await _play(number), _TASKS[number % len(_TASKS)]

    run(main())
