"""Every check catches the environment that breaks its promise; the good ones pass them all."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openenv_core import conformance
from openenv_core.conformance.direct import DirectObject, with_object
from openenv_core.conformance.report import Verdict
from openenv_core.conformance.run import check_names
from openenv_core.environment import Environment, EnvironmentSpec
from openenv_core.errors import CallTimeoutError, ConfigurationError, EnvironmentFactoryError
from tests.conformance import worlds

QUICK: dict[str, Any] = {"episodes": 2, "steps": 12}

Kind = type[Environment[Any, Any, Any]]

SEEDS = {"seed_same_session", "seed_two_sessions"}
SESSIONS = {"sessions_isolated", "concurrency"}

BROKEN: dict[Kind, tuple[set[str], set[str]]] = {
    worlds.IgnoresSeed: (SEEDS, set()),
    worlds.SameForEverySeed: ({"seed_matters"}, set()),
    worlds.SecondResetRandom: ({"seed_same_session"}, set()),
    worlds.StepRandom: (SEEDS, set()),
    worlds.SeedStays: ({"reset_without_seed"}, set()),
    worlds.SecretOfTheClass: (SESSIONS, set()),
    worlds.RemarksOfTheClass: (SESSIONS, set()),
    # One object's count goes on in the next one: a state that miscounts, too.
    worlds.CountsForAll: ({"sessions_isolated"}, {"state", "episode_id", "seed_same_session", "seed_two_sessions"}),
    worlds.SlowlyOverwritten: ({"concurrency"}, set()),
    worlds.UndeclaredField: ({"observation_schema"}, set()),
    worlds.OutOfBounds: ({"observation_schema"}, set()),
    worlds.NoRealReward: ({"reward_finite"}, set()),
    worlds.PaysAfterTheEnd: ({"step_after_done"}, set()),
    worlds.StartsAgainByItself: ({"step_after_done"}, set()),
    worlds.NeedsReset: ({"step_before_reset", "state_before_reset"}, set()),
    # What is left of the last episode is not in the seed, either.
    worlds.KeepsHistory: ({"reset_is_clean", "seed_same_session"}, {"reset_without_seed"}),
    worlds.Nameless: ({"episode_id"}, set()),
    worlds.KeepsName: ({"episode_id"}, set()),
    worlds.Miscounts: ({"state"}, {"sessions_isolated"}),
    worlds.StateOutOfBounds: ({"state"}, set()),
    worlds.AcceptsAnything: ({"invalid_action"}, set()),
    worlds.BreaksOnIllegal: ({"errors_typed"}, set()),
    worlds.DrawsFromTheProcess: ({"process_random"}, set()),
    worlds.SeedsTheProcess: ({"process_random"}, set()),
    worlds.OneBuffer: ({"buffer_reuse"}, set()),
    worlds.SharedList: ({"buffer_reuse"}, set()),
    worlds.ClosesOnce: ({"close_idempotent"}, set()),
    worlds.LosesText: ({"models_round_trip"}, set()),
}
"""For each broken environment the checks that must fail, and those that may as well."""

GOOD = [
    worlds.Guess,
    worlds.AsyncGuess,
    worlds.OneAtATime,
    worlds.NothingToSeed,
    worlds.RefusesAfterTheEnd,
    worlds.Wander,
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda cls: cls.__name__)
def test_a_broken_promise_is_caught_by_its_check(broken: Kind) -> None:
    report = conformance.check(broken, **QUICK)
    must, may = BROKEN[broken]
    found = {result.name for result in report.of(Verdict.FAIL)}
    reasons = "\n".join(f"{result.name}: {result.reason}" for result in report.of(Verdict.FAIL))
    assert must <= found <= must | may, reasons
    assert not report.ok


@pytest.mark.parametrize("good", GOOD, ids=lambda cls: cls.__name__)
def test_a_good_environment_fails_nothing(good: Kind) -> None:
    report = conformance.check(good, **QUICK)
    assert [f"{result.name}: {result.reason}" for result in report.of(Verdict.FAIL)] == []
    assert [result.name for result in report.results] == check_names()
    assert report.ok


@pytest.mark.parametrize(
    ("good", "check"),
    [(worlds.ShowsOrder, "seed_two_sessions"), (worlds.NoScoreYet, "models_round_trip")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_environment_that_is_right_is_not_blamed(good: Kind, check: str) -> None:
    result = conformance.check(good, only=[check, "plays", "observation_schema"], **QUICK)[check]
    assert (result.verdict, result.reason) == (Verdict.PASS, result.reason)


def test_a_reset_that_repeats_by_chance_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first session draws an episode that looks different, the later resets none: so it goes now and then.
    draws = iter([1, *[0] * 500])
    monkeypatch.setattr(worlds.OnceInAWhile, "draw", staticmethod(lambda: next(draws)))
    result = conformance.check(worlds.OnceInAWhile, only=["plays", "reset_without_seed"], **QUICK)["reset_without_seed"]
    assert result.verdict is Verdict.SKIP
    assert "no two of 21 seeds can be told apart" in result.reason


def test_the_guessing_game_passes_all_that_can_be_told_of_a_class() -> None:
    report = conformance.check(worlds.Guess, **QUICK)
    assert [result.name for result in report.of(Verdict.SKIP)] == ["seed_two_processes"]


def test_the_echo_environment_passes_everything_that_has_an_end() -> None:
    report = conformance.check("echo_env", **QUICK)
    assert [(result.name, result.reason) for result in report.of(Verdict.FAIL)] == []
    assert [result.name for result in report.of(Verdict.SKIP)] == ["step_after_done"]


def test_a_seed_that_is_another_in_each_process_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    only: dict[str, Any] = {"only": ["seed_two_sessions", "seed_two_processes"], **QUICK}
    broken = conformance.check("tests.conformance.worlds:SeedThroughHash", **only)
    assert broken["seed_two_sessions"].verdict is Verdict.PASS
    assert broken["seed_two_processes"].verdict is Verdict.FAIL
    assert conformance.check("tests.conformance.worlds:Guess", **only)["seed_two_processes"].verdict is Verdict.PASS


def test_a_failure_tells_what_was_seen_and_what_to_do() -> None:
    reason = conformance.check(worlds.StepRandom, only=["seed_two_sessions"], **QUICK)["seed_two_sessions"].reason
    assert reason.startswith("seed 0, another session: after step 1 ")
    assert "random.Random(seed)" in reason
    assert "\n" not in reason


def test_the_same_seed_gives_the_same_report() -> None:
    only = ["plays", "observation_schema", "seed_matters", "models_round_trip"]
    one, other = (conformance.check(worlds.Guess, only=only, seed=5, **QUICK) for _ in range(2))
    assert one == other


@pytest.fixture
def hanging() -> Iterator[type[worlds.Hangs]]:
    """An environment that hangs for the length of a test."""
    worlds.Hangs.gate.clear()
    yield worlds.Hangs
    worlds.Hangs.gate.set()


def spec_of(world: Kind) -> EnvironmentSpec:
    return EnvironmentSpec(name=world.__name__, factory=world, client="")


def test_an_object_that_does_not_return_is_given_up(hanging: type[worlds.Hangs]) -> None:
    with pytest.raises(CallTimeoutError, match=r"within 0\.2 s"):
        with_object(spec_of(hanging), lambda made: made.step({"guess": 1}), limit_s=0.2)


def test_what_an_object_has_told_counts_although_it_does_not_close(hanging: type[worlds.Hangs]) -> None:
    assert with_object(spec_of(hanging), lambda made: made.reset(seed=1).hint, limit_s=0.5) == "start"


@pytest.mark.parametrize("world", [worlds.Guess, worlds.AsyncGuess], ids=lambda cls: cls.__name__)
def test_an_object_is_called_as_its_methods_are_written(world: Kind) -> None:
    def play(made: DirectObject) -> list[Any]:
        made.reset(seed=1, episode_id="e")
        made.close()
        made.close()
        return [made.step({"guess": guess}).hint for guess in range(10)]

    hints = with_object(spec_of(world), play, limit_s=20)
    assert hints.count("right") == 1
    assert hints == sorted(hints, key=["higher", "right", "lower"].index)


def test_an_error_of_an_object_comes_out() -> None:
    with pytest.raises(RuntimeError, match="no world today"):
        with_object(spec_of(worlds.CannotBeMade), lambda made: None, limit_s=20)


def test_a_step_that_does_not_return_ends_with_its_limit(hanging: type[worlds.Hangs]) -> None:
    report = conformance.check(hanging, only=["plays", "state"], timeout_s=0.2, **QUICK)
    hanging.gate.set()
    assert "step took longer than 0.2 s" in report["plays"].reason
    assert report["state"].reason == "cannot tell while plays does not pass"


def test_an_environment_that_cannot_be_made_cannot_be_checked() -> None:
    with pytest.raises(EnvironmentFactoryError, match="RuntimeError: no world today"):
        conformance.check(worlds.CannotBeMade)


def test_an_option_that_is_lost_by_intent_is_told_from_one_that_is_checked() -> None:
    for lenient, why in ((worlds.LosesAnswers, "lenient"), (worlds.AnyOption, "any option")):
        result = conformance.check(lenient, only=["unknown_reset_option"])["unknown_reset_option"]
        assert result.verdict is Verdict.SKIP
        assert why in result.reason


@pytest.mark.parametrize("target", [3, object(), worlds.Guess(), dict])
def test_what_is_no_target_is_refused(target: object) -> None:
    with pytest.raises(ConfigurationError, match="cannot be checked"):
        conformance.check(target)


@pytest.mark.parametrize("options", [{"episodes": 0}, {"steps": 0}, {"seed": -1}, {"timeout_s": 0}, {"only": ["sede"]}])
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        conformance.check(worlds.Guess, **options)


def test_a_check_that_is_misspelt_is_guessed() -> None:
    with pytest.raises(ConfigurationError, match="did you mean seed_matters"):
        conformance.check(worlds.Guess, skip=["seeds_matter"])
