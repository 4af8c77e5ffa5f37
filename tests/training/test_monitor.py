"""Counting and warning, without a server."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.errors import ConfigurationError
from openenv_core.training import Episode, Fault, FaultLimitError, Monitor, make_rows
from openenv_core.training.demo.curve import smoothed, sparkline


def episode(reward: float = 0.0, *, seed: int = 0, fault: str | None = None) -> Episode:
    return Episode(
        columns={"seed": seed},
        begun=True,
        rewards=[reward],
        fault=Fault(fault, "it broke") if fault is not None else None,
    )


def test_each_episode_counts_once() -> None:
    monitor, one = Monitor("toy"), episode()
    monitor.finished(one)
    monitor.collect([one])
    monitor.finished(Episode())
    assert monitor.rollouts == 1


def test_the_spread_is_taken_within_groups_and_without_faults() -> None:
    monitor = Monitor("toy")
    monitor.collect(
        [episode(0, seed=1), episode(1, seed=1), episode(5, seed=2), episode(5, seed=2), episode(9, seed=2, fault="x")]
    )
    figures = monitor.metrics()
    assert figures["env/toy/group_reward_std"] == 0.25
    assert figures["env/toy/groups_without_spread"] == 0.5
    assert figures["env/toy/faults/x"] == 1
    assert figures["env/toy/reward"] == 11 / 4


def test_groups_without_spread_are_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    monitor = Monitor("toy")
    with caplog.at_level(logging.WARNING):
        for seed in range(40):
            monitor.collect([episode(1, seed=seed), episode(1, seed=seed)])
    assert len(caplog.records) == 1
    assert "Likely causes" in caplog.text


def test_the_limit_of_faults_is_a_share_of_the_last_rollouts() -> None:
    monitor = Monitor("toy", max_fault_rate=0.25, window=16)
    for _ in range(12):
        monitor.finished(episode())
    for _ in range(4):
        monitor.finished(episode(fault="capacity"))
    with pytest.raises(FaultLimitError, match=r"5 of the last 16 rollouts .* capacity 5 of 17"):
        monitor.finished(episode(fault="capacity"))


@pytest.mark.parametrize("limits", [{"max_fault_rate": 2.0}, {"window": 3}])
def test_a_limit_that_means_nothing_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        Monitor("toy", **limits)  # type: ignore[arg-type]


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_rows_have_seeds_that_all_differ_and_are_the_same_again(n: int, seed: int) -> None:
    rows = make_rows(n, seed, prompt="go", environment="toy", options={"level": ["easy", "hard"], "size": 3})
    assert len({row["seed"] for row in rows}) == n
    assert rows == make_rows(n, seed, prompt="go", environment="toy", options={"level": ["easy", "hard"], "size": 3})
    assert [row["level"] for row in rows[:2]] == ["easy", "hard"][:n]
    assert rows[0]["prompt"] == [{"role": "user", "content": "go"}]


def test_rows_of_nothing_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="n is 0"):
        make_rows(0, prompt="go")


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=50))
def test_a_sparkline_has_one_character_for_each_value(values: list[float]) -> None:
    assert len(sparkline(values)) == len(values) == len(smoothed(values))


def test_a_sparkline_rises_with_its_values() -> None:
    assert sparkline([0, 0.5, 1]) == "▁▅█"
