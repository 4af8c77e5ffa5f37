"""Factories: what is checked before a run, what is closed after it, several environments in one run."""

import gc
import pickle
import subprocess
import sys
from typing import Any

import pytest

from openenv_core.errors import ConfigurationError, ConnectionFailedError
from openenv_core.training import (
    FaultLimitError,
    MultiEnvironment,
    ToolCallError,
    active,
    environment_factory,
    environment_reward,
    tool_names,
)
from tests.support.serving import Served, serving
from tests.support.source import REPOSITORY
from tests.support.waiting import eventually
from tests.training.worlds import Climb, ClimbTools, PaidClimbTools, climb_reward


def test_it_can_be_pickled_and_makes_environments(served: Served) -> None:
    factory = pickle.loads(pickle.dumps(environment_factory(ClimbTools, served.base_url, message_timeout_s=5.0)))
    with factory:
        made = factory()
        assert isinstance(made, ClimbTools)
        assert made.reset(top=3) == "\n\nThe top is 3 steps up."
    eventually(lambda: served.active == 0)


def test_too_small_a_server_is_refused_with_both_numbers(served: Served) -> None:
    with pytest.raises(ConfigurationError, match=r"allows 20 sessions .* needs 21"):
        environment_factory(ClimbTools, served.base_url, rollouts=21)
    environment_factory(ClimbTools, served.base_url, rollouts=19)


def test_a_server_whose_sessions_others_hold_is_refused_unless_one_may_wait(served: Served) -> None:
    others = environment_factory(ClimbTools, served.base_url)
    held = [others() for _ in range(10)]
    for one in held:
        one.reset(top=3)
    with pytest.raises(ConfigurationError, match="give wait_for_capacity_s"):
        environment_factory(ClimbTools, served.base_url, rollouts=15)
    environment_factory(ClimbTools, served.base_url, rollouts=15, wait_for_capacity_s=5.0)
    others.close()


def test_a_server_that_is_not_there_is_found_out_before_the_run() -> None:
    with pytest.raises(ConnectionFailedError):
        environment_factory(ClimbTools, "http://127.0.0.1:9", rollouts=1)


def test_sessions_of_environments_that_nobody_holds_end(served: Served) -> None:
    tools = environment_factory(ClimbTools, served.base_url)()
    tools.reset(top=3)
    assert served.active == 1
    del tools
    gc.collect()
    eventually(lambda: served.active == 0)


def test_sessions_end_with_their_process(served: Served) -> None:
    code = (
        "import sys\n"
        "from openenv_core.training import environment_factory\n"
        "from tests.training.worlds import ClimbTools\n"
        "tools = environment_factory(ClimbTools, sys.argv[1])()\n"
        "print(tools.reset(top=3))\n"
    )
    # A session that is only cut off would be kept for its client to come back: this one has said goodbye.
    done = subprocess.run(
        [sys.executable, "-c", code, served.base_url], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert "3 steps up" in done.stdout
    eventually(lambda: served.active == 0)


def test_a_full_server_gives_no_reward_and_the_others_play_on() -> None:
    with serving(Climb, limits={"max_sessions": 2}) as small:
        factory = environment_factory(ClimbTools, small.base_url)
        slots: list[Any] = [factory() for _ in range(3)]
        assert ["steps up" in slot.reset(top=1) for slot in slots] == [True, True, False]
        for slot in slots[:2]:
            slot.climb(by=1)
        with pytest.raises(ToolCallError, match="has failed"):
            slots[2].climb(by=1)
        assert climb_reward(environments=slots) == [1.0, 1.0, None]
        assert factory.monitor.totals == {"capacity": 1}
        factory.close()


def test_a_server_that_goes_away_stops_the_run_with_a_report() -> None:
    with serving(Climb) as there:
        factory = environment_factory(ClimbTools, there.base_url, reconnect_timeout_s=0.1, connect_timeout_s=1.0)
        slots = [factory() for _ in range(4)]
        for slot in slots:
            slot.reset(top=3)
    lost: Any = None
    for _ in range(10):
        try:
            for slot in slots:
                slot.reset(top=3)
        except FaultLimitError as error:
            lost = error
            break
    assert lost is not None
    assert "connection" in lost.message
    assert "max_fault_rate=0.5" in lost.message
    assert lost.details["faults"]["connection"] >= 8


def test_reward_functions_mask_faults_and_other_environments(served: Served) -> None:
    factory = environment_factory(ClimbTools, served.base_url)
    good: Any = factory()
    bad: Any = factory()
    fresh = factory()
    good.reset(top=1)
    good.climb(by=1)
    bad.reset(top=3)
    with pytest.raises(ToolCallError):
        bad.climb(by=13)
    assert climb_reward(environments=[good, bad, fresh, object()], prompts=[]) == [1.0, None, None, None]
    assert environment_reward(environments=[good, bad]) == [1.0, None]
    with pytest.raises(ConfigurationError, match="OwnsReward"):
        climb_reward(prompts=[])
    figures = factory.monitor.metrics()
    assert figures["env/ClimbTools/fault_rate"] == 0.5
    assert figures["env/ClimbTools/faults/environment"] == 1
    assert figures["env/ClimbTools/success"] == 1
    assert figures["env/ClimbTools/tool_latency_s"] > 0
    assert factory.monitor.metrics() == {}
    factory.close()


def test_several_environments_as_one_object_for_trainers_that_know_no_dictionaries(served: Served) -> None:
    class OtherTools(ClimbTools):
        climb = None  # type: ignore[assignment]
        climb_later = None  # type: ignore[assignment]
        muddle = None  # type: ignore[assignment]

        def leap(self) -> str:
            """Leap two steps."""
            return ClimbTools.climb(self, by=2)

    with MultiEnvironment(
        climb=environment_factory(ClimbTools, served.base_url), leap=environment_factory(OtherTools, served.base_url)
    ) as several:
        assert isinstance(several, dict)
        slot = several()
        assert tool_names(type(slot)) == ["climb", "climb_later", "leap", "muddle"]
        assert "3 steps" in slot.reset(environment="climb", top=3)
        slot.climb(by=1)
        with pytest.raises(ToolCallError, match="no tool 'leap'"):
            slot.leap()
        assert isinstance(active(slot), ClimbTools)
        assert climb_reward(environments=[slot]) == [0.0]
        slot.reset(environment="leap", top=2)
        slot.leap()
        assert climb_reward(environments=[slot]) == [1.0]
        with pytest.raises(ConfigurationError, match="'leep'; there are climb, leap"):
            slot.reset(environment="leep")


def test_two_environments_with_a_tool_of_the_same_name_are_refused(served: Served) -> None:
    with pytest.raises(ConfigurationError, match="both have a tool 'climb'"):
        MultiEnvironment(
            one=environment_factory(ClimbTools, served.base_url),
            two=environment_factory(PaidClimbTools, served.base_url),
        )
