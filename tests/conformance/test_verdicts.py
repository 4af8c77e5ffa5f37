"""Verdicts on episodes that were never played: what is decided needs no server."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.conformance.records import (
    Trajectory,
    Turn,
    document_difference,
    read,
    text_of,
    texts_in,
    trajectory_difference,
)
from openenv_core.conformance.report import CheckResult, Report, Verdict
from openenv_core.conformance.verdicts import (
    judge_after_the_end,
    judge_errors,
    judge_fresh_resets,
    judge_observations,
    judge_play,
    judge_repeats,
    judge_results,
    judge_rewards,
    judge_seeds,
    judge_strangers,
    strange_texts,
)
from openenv_core.errors import (
    EnvironmentFailedError,
    EpisodeOverError,
    InvalidObservationError,
    InvalidRewardError,
    OpenEnvError,
    SessionLostError,
    ValidationFailedError,
)

BROKE = EnvironmentFailedError("it broke")
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def seen(
    action: str | None = None, *, reward: Any = None, done: Any = False, truncated: Any = False, **more: Any
) -> Turn:
    document = {"reward": reward, "done": done, "truncated": truncated, **more}
    return Turn(None if action is None else text_of({"say": action}), text_of(document), reward, done, truncated)


def broken(error: OpenEnvError, action: str | None = "x") -> Turn:
    return Turn(None if action is None else text_of({"say": action}), error=error)


def episode(*turns: Turn, seed: int = 3, refused: int = 0) -> Trajectory:
    return Trajectory(seed, "name", turns, refused)


@given(one=documents, other=documents)
def test_documents_differ_exactly_where_their_texts_do(one: Any, other: Any) -> None:
    assert document_difference(one, json.loads(json.dumps(one))) is None
    difference = document_difference(one, other)
    assert (difference is None) == (document_difference(other, one) is None)
    if text_of(one) == text_of(other):
        assert difference is None


def test_the_order_of_keys_is_kept_and_makes_no_difference() -> None:
    assert list(read(text_of({"b": 1, "a": 2}))) == ["b", "a"]
    assert document_difference({"b": 1, "a": 2}, {"a": 2, "b": 1}) is None


def test_nan_makes_no_difference_to_nan_alone() -> None:
    assert document_difference({"a": math.nan}, {"a": float("nan")}) is None
    assert document_difference({"a": math.nan}, {"a": 0.0}) == "a is nan once and 0.0 the other time"


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b.1 is 2 once and 3"),
        ({"a": 1}, {}, "a is there once and missing"),
        ({"a": [1]}, {"a": [1, 2]}, "a is [1] once and [1, 2]"),
        ({"a": 1}, {"a": True}, "a is 1 once and True"),
        (1, 2, "the value is 1 once and 2"),
    ],
)
def test_a_difference_names_its_place_and_both_values(one: Any, other: Any, words: str) -> None:
    assert words in str(document_difference(one, other))


def test_one_and_one_point_nought_are_the_same_on_the_wire() -> None:
    assert document_difference({"a": 1}, {"a": 1.0}) is None


def test_metadata_may_differ_between_repetitions() -> None:
    one, other = (episode(seen(text="a", metadata={"elapsed_s": time})) for time in (0.1, 0.2))
    assert trajectory_difference(one, other) is None


def test_repetitions_are_compared_turn_by_turn() -> None:
    long = episode(seen(text="a"), seen("x", text="b"), seen("y", text="c"))
    assert "after step 2 text is 'c' once and 'd'" in str(
        trajectory_difference(long, episode(*long.turns[:2], seen("y", text="d")))
    )
    assert "2 steps once and 1" in str(trajectory_difference(long, long.head(1)))
    refusal = episode(*long.turns[:2], broken(ValidationFailedError("no")))
    assert "an observation once and VALIDATION_ERROR" in str(trajectory_difference(long, refusal))
    assert trajectory_difference(refusal, refusal) is None


def test_repeats_stop_at_the_first_difference_and_say_which_it_was() -> None:
    one, other = episode(seen(text="a")), episode(seen(text="b"))

    def pairs() -> Iterator[tuple[str, Trajectory, Trajectory]]:
        yield "the same", one, one
        yield "another session", one, other
        raise AssertionError("nobody asked for more")

    finding = judge_repeats(pairs(), "do this")
    assert finding.verdict is Verdict.FAIL
    assert finding.reason.startswith("seed 3, another session: after reset text")
    assert finding.reason.endswith("Do this.")
    assert judge_repeats([("again", one, one)], "do this").verdict is Verdict.PASS


def test_one_other_seed_that_differs_is_enough() -> None:
    first, same, other = episode(seen(text="a")), episode(seen(text="a"), seed=4), episode(seen(text="b"), seed=5)
    assert judge_seeds(first, [same, same]) is None
    finding = judge_seeds(first, iter([same, other]))
    assert finding is not None
    assert "seed 5 differs" in finding.reason


def test_what_can_be_played() -> None:
    assert judge_play([episode(seen(), seen("x"))], sampled=False).verdict is Verdict.PASS
    assert judge_play([episode(seen(done=True))], sampled=False).verdict is Verdict.PASS
    assert "reset(seed=3) failed: it broke" in judge_play([episode(broken(BROKE, None))], sampled=False).reason
    assert "no step went through: it broke" in judge_play([episode(seen(), broken(BROKE))], sampled=False).reason
    stuck = [episode(seen(), refused=25)]
    assert judge_play(stuck, sampled=False).verdict is Verdict.SKIP
    assert "none of 25 actions that its sample_action" in judge_play(stuck, sampled=True).reason


def test_a_bad_reward_is_not_a_broken_play() -> None:
    only_bad = episode(seen(), broken(InvalidRewardError("the reward is nan")))
    assert judge_play([only_bad], sampled=False).verdict is Verdict.PASS
    assert judge_rewards([only_bad]).reason.startswith("seed 3, step 1: the reward is nan. Pay a finite")


@pytest.mark.parametrize("reward", [float("inf"), float("nan"), "much", [1]])
def test_a_reward_is_a_finite_number(reward: Any) -> None:
    turn = Turn(text_of({}), text_of({"reward": None}), reward)
    assert judge_rewards([episode(seen(), turn)]).verdict is Verdict.FAIL


@pytest.mark.parametrize("reward", [None, 0, -1.5, True])
def test_these_are_rewards(reward: Any) -> None:
    assert judge_rewards([episode(seen(), seen("x", reward=reward))]).verdict is Verdict.PASS


def test_observations_of_a_reset_have_a_schema_of_their_own() -> None:
    loose, tight = {"type": "object"}, {"type": "object", "required": ["hint"]}
    played = [episode(seen(), seen("x", hint="up"))]
    assert judge_observations(played, tight, loose).verdict is Verdict.PASS
    assert judge_observations(played, loose, tight).reason.startswith(
        "seed 3, reset: the observation does not fit its schema"
    )
    mute = [episode(broken(InvalidObservationError("Guess.x does not serialize"), None))]
    assert "does not serialize" in judge_observations(mute, loose, loose).reason
    assert judge_observations([episode(broken(BROKE, None))], loose, loose).verdict is Verdict.SKIP


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (Turn(text_of({}), text_of({"reward": 1.0, "done": False}), 0.0), "reward is 0.0 in the result and 1.0"),
        (Turn(text_of({}), text_of({"done": True}), done=False), "done is False in the result and True"),
        (Turn(text_of({}), text_of({"reward": True}), 1), "reward is 1 in the result and True"),
        (Turn(text_of({}), text_of({}), done="yes"), "done is 'yes'"),
        (Turn(text_of({}), text_of({}), truncated=True), "truncated but not done"),
    ],
)
def test_results_and_observations_say_the_same(turn: Turn, words: str) -> None:
    finding = judge_results([episode(seen(), turn)])
    assert finding.verdict is Verdict.FAIL
    assert words in finding.reason
    assert judge_results([episode(seen(), seen("x", reward=1, done=True, truncated=True))]).verdict is Verdict.PASS


@pytest.mark.parametrize("error", [BROKE, SessionLostError("gone", reason="env_crashed"), OpenEnvError("what?")])
def test_an_error_says_what_is_wrong(error: OpenEnvError) -> None:
    assert judge_errors([ValidationFailedError("not legal"), error]).verdict is Verdict.FAIL
    assert judge_errors([ValidationFailedError("not legal"), InvalidRewardError("nan")]).verdict is Verdict.PASS


def test_resets_that_grow_or_remember_are_not_clean() -> None:
    said = [{"say": "abracadabra"}]
    same = [seen(text="welcome")] * 5
    assert judge_fresh_resets(same, said).verdict is Verdict.PASS
    growing = [seen(text="welcome" * count) for count in range(1, 6)]
    assert "grows" in judge_fresh_resets(growing, said).reason
    remembering = [*same[:3], seen(text="welcome, abracadabra")]
    assert "after reset 4 the observation still holds 'abracadabra'" in judge_fresh_resets(remembering, said).reason
    assert judge_fresh_resets([seen(text="say abracadabra")] * 5, said).verdict is Verdict.PASS, "it was there before"
    varying = [seen(text="x" * length) for length in (3, 9, 4, 8, 5)]
    assert judge_fresh_resets(varying, said).verdict is Verdict.PASS


def test_nothing_is_earned_after_the_end() -> None:
    over = EpisodeOverError("over")
    assert judge_after_the_end([broken(over), broken(over)]).verdict is Verdict.PASS
    assert judge_after_the_end([broken(over), seen("x", done=True, reward=0.0)]).verdict is Verdict.PASS
    assert "paid -1.0" in judge_after_the_end([seen("x", done=True, reward=-1.0)]).reason
    assert "as if the episode were not over" in judge_after_the_end([seen("x")]).reason
    lost = SessionLostError("gone", reason="env_crashed")
    assert "cost the session" in judge_after_the_end([broken(lost)]).reason


def test_a_strange_text_is_one_that_only_the_other_session_said() -> None:
    own = episode(seen(text="apple"), seen("banana", text="cherry"))
    other = episode(seen(), seen("apple"), seen("banana"), seen("dragonfruit"), seen("fig"))
    strangers = strange_texts(own, other)
    assert strangers == ["dragonfruit"]
    assert judge_strangers(own.turns, strangers) is None
    assert judge_strangers([seen(text="have a dragonfruit!")], strangers) == "dragonfruit"


def test_texts_are_found_in_any_depth_and_keys_do_not_count() -> None:
    assert list(texts_in({"long key": ["short", {"x": "deep text"}, "abc", 5, None]})) == ["short", "deep text"]


def test_a_report_counts() -> None:
    rows = (
        CheckResult("a", Verdict.PASS, "fine"),
        CheckResult("b", Verdict.FAIL, "bad"),
        CheckResult("c", Verdict.SKIP, "none"),
    )
    report = Report("echo_env", 7, rows)
    assert not report.ok
    assert report["b"].reason == "bad"
    with pytest.raises(KeyError):
        report["d"]
    assert Report("echo_env", 7, (rows[0], rows[2])).ok
    assert json.loads(json.dumps(report.to_json())) == {
        "target": "echo_env",
        "seed": 7,
        "ok": False,
        "passed": 1,
        "failed": 1,
        "skipped": 1,
        "checks": [
            {"name": "a", "verdict": "pass", "reason": "fine"},
            {"name": "b", "verdict": "fail", "reason": "bad"},
            {"name": "c", "verdict": "skip", "reason": "none"},
        ],
    }
