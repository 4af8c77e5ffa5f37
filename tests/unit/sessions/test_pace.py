import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.sessions.pace import Pace


def test_without_a_limit_nobody_waits() -> None:
    pace = Pace(0)
    for _ in range(1000):
        assert pace.wait_s("a", 5.0) == 0
        pace.take("a", 5.0)


def test_one_second_s_worth_may_come_at_once_and_the_rest_in_turn() -> None:
    pace = Pace(4)
    for _ in range(4):
        assert pace.wait_s("a", 10.0) == 0
        pace.take("a", 10.0)
    assert pace.wait_s("a", 10.0) == pytest.approx(0.25)
    assert pace.wait_s("a", 10.25) == pytest.approx(0)


def test_callers_do_not_wait_for_each_other() -> None:
    pace = Pace(1)
    pace.take("a", 0.0)
    assert pace.wait_s("a", 0.0) == pytest.approx(1)
    assert pace.wait_s("b", 0.0) == 0


def test_a_rate_below_one_lets_the_first_through() -> None:
    pace = Pace(0.1)
    assert pace.wait_s("a", 0.0) == 0
    pace.take("a", 0.0)
    assert pace.wait_s("a", 0.0) == pytest.approx(10)


def test_callers_that_have_caught_up_are_forgotten() -> None:
    pace = Pace(10)
    for number in range(5000):
        pace.take(str(number), float(number))
    assert len(pace._next) <= 1025


@given(st.floats(0.1, 50), st.lists(st.floats(0, 0.5), max_size=200))
def test_no_window_of_time_holds_more_than_its_share(rate: float, gaps: list[float]) -> None:
    pace, now, taken = Pace(rate), 0.0, []
    for gap in gaps:
        now += gap
        if pace.wait_s("a", now) == 0:
            pace.take("a", now)
            taken.append(now)
    for first, start in enumerate(taken):
        for last, end in enumerate(taken[first:], start=first):
            assert last - first + 1 <= math.ceil(rate * (end - start) + max(1.0, rate)) + 1e-6
