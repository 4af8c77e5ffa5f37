import abc
import contextlib
import functools
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from openenv_core.environment import Environment, EnvironmentSpec, ResetOptions, class_of_factory, traits_of
from openenv_core.errors import ConfigurationError, UnknownResetOptionError, ValidationFailedError
from openenv_core.server.app import create_app
from openenv_core.types import Action, Observation, State


class Guess(Action):
    word: str


class Board(Observation):
    rows: list[str] = []


class Score(State):
    points: int = 0


class Typed(Environment[Guess, Board, Score]):
    concurrency_safe = True
    execution = "inline"
    max_steps = 6

    def reset(self, *, seed: int | None = None, level: Annotated[int, Field(ge=1, le=9)] = 1) -> Board:
        return Board()

    def step(self, action: Guess) -> Board:
        return Board()


class Minimal(Environment[Any, Any, Any]):
    def reset(self) -> Observation:
        return Observation()

    def step(self, action: Any) -> Observation:
        return Observation()


def options_of(reset: Any, *, lenient: bool = False) -> ResetOptions:
    return ResetOptions(reset, lenient=lenient)


def test_the_models_are_read_off_the_class() -> None:
    assert (Typed.action_type(), Typed.observation_type(), Typed.state_type()) == (Guess, Board, Score)


def test_a_subclass_has_the_models_of_its_parent() -> None:
    class Harder(Typed):
        max_steps = 3

    assert (Harder.action_type(), Harder.observation_type(), Harder.state_type()) == (Guess, Board, Score)


def test_a_class_without_models_has_the_plain_ones() -> None:
    class Bare(Environment):  # type: ignore[type-arg]
        pass

    assert (Bare.action_type(), Bare.observation_type(), Bare.state_type()) == (Action, Observation, State)


def test_traits() -> None:
    traits = traits_of(Typed)
    assert (traits.name, traits.execution, traits.max_steps) == ("Typed", "inline", 6)
    assert traits.concurrency_safe
    assert not traits.lenient
    assert not traits.auto_start
    assert not traits.has_state
    assert not traits.passes_episode_id
    assert (traits.reset, traits.step, traits.close) == ("reset", "step", "close")
    assert {"reset", "step", "close"} <= traits.methods


def test_the_safe_choice_is_the_default() -> None:
    traits = traits_of(Minimal)
    assert (traits.execution, traits.concurrency_safe, traits.lenient) == ("thread", False, False)


def test_the_public_package_s_word_for_concurrency_counts() -> None:
    class Theirs(Minimal):
        SUPPORTS_CONCURRENT_SESSIONS = True

    assert traits_of(Theirs).concurrency_safe


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        ({"execution": "fast"}, "execution is 'fast'"),
        ({"step_deadline_s": 0}, "step_deadline_s is 0"),
        ({"step_deadline_s": float("nan")}, "step_deadline_s is nan"),
        ({"step_deadline_s": float("inf")}, "step_deadline_s is inf"),
    ],
)
def test_a_trait_that_cannot_work_is_refused(body: dict[str, Any], culprit: str) -> None:
    with pytest.raises(ConfigurationError, match=culprit):
        traits_of(type("Broken", (Minimal,), body))


class NoStep(Environment[Any, Any, Any]):
    def reset(self) -> Observation:
        return Observation()


class NoReset(Environment[Any, Any, Any]):
    async def step_async(self, action: Any) -> Observation:
        return Observation()


class Abstract(Minimal, abc.ABC):
    @abc.abstractmethod
    def words(self) -> list[str]: ...


@pytest.mark.parametrize(("unfinished", "method"), [(NoStep, "step"), (NoReset, "reset"), (Abstract, "words")])
def test_a_method_that_is_not_written_is_named_by_class_and_method(unfinished: type[Any], method: str) -> None:
    words = f"{unfinished.__name__} has no method '{method}' of its own; write {unfinished.__name__}.{method}"
    with pytest.raises(ConfigurationError, match=words):
        traits_of(unfinished)
    with pytest.raises(ConfigurationError, match=words):
        create_app(unfinished, Action, Observation)


def test_a_factory_that_tells_no_more_than_the_base_class_is_of_no_known_class() -> None:
    def made() -> Environment[Any, Any, Any]:
        return Minimal()

    def typed() -> Minimal:
        return Minimal()

    assert class_of_factory(made) is None
    assert class_of_factory(typed) is Minimal


def test_something_without_step_is_no_environment() -> None:
    class Half:
        def reset(self) -> None: ...

    with pytest.raises(ConfigurationError, match="Half is not an environment: it has no method 'step'"):
        traits_of(Half)


def test_the_awaiting_method_is_chosen_where_the_class_itself_has_one() -> None:
    class Both(Minimal):
        async def step_async(self, action: Any) -> Observation:
            return Observation()

    class Overridden(Both):
        def step(self, action: Any) -> Observation:
            return Observation()

    assert traits_of(Both).step == "step_async"
    assert traits_of(Overridden).step == "step"


def test_the_public_package_s_default_of_an_awaiting_method_is_not_taken_for_the_class_s_own() -> None:
    base = type(
        "Environment",
        (),
        {
            "__module__": "openenv.core.env_server.interfaces",
            "reset": lambda self: None,
            "step": lambda self, action: None,
            "step_async": lambda self, action: None,
        },
    )
    theirs = type("Theirs", (base,), {"reset": lambda self: None})
    traits = traits_of(theirs)
    assert traits.step == "step"
    assert traits.lenient
    assert traits.auto_start
    assert traits.max_steps is None


def test_a_step_that_takes_a_timeout_is_told_it() -> None:
    class Timed(Minimal):
        def step(self, action: Any, timeout_s: float | None = None) -> Observation:
            return Observation()

    assert traits_of(Timed).step_takes_timeout
    assert not traits_of(Minimal).step_takes_timeout


def reset_by_level(
    self: Any,
    *,
    seed: int | None = None,
    level: Annotated[int, Field(ge=1, le=9)] = 1,
    mode: Literal["easy", "hard"] = "easy",
    words: list[str] = [],  # noqa: B006 - an author's slip that does no harm here
) -> None: ...


def test_options_are_typed() -> None:
    given = {"seed": 3, "level": "4", "mode": "hard", "words": ("a", "b")}
    assert options_of(reset_by_level).check(given) == {"seed": 3, "level": 4, "mode": "hard", "words": ["a", "b"]}


def test_only_what_was_given_is_passed_on() -> None:
    assert options_of(reset_by_level).check({}) == {}
    assert options_of(reset_by_level).check({"level": 2}) == {"level": 2}


def test_a_misspelt_option_is_refused_by_name_with_those_that_there_are() -> None:
    with pytest.raises(
        UnknownResetOptionError, match=r"reset has no option 'sede'; it knows episode_id, level"
    ) as caught:
        options_of(reset_by_level).check({"sede": 1, "level": 2})
    assert caught.value.details["unknown"] == ["sede"]
    assert caught.value.details["known"] == ["episode_id", "level", "mode", "seed", "words"]


@pytest.mark.parametrize(
    ("given", "culprit"),
    [
        ({"level": 10}, "level"),
        ({"level": "many"}, "level"),
        ({"mode": "odd"}, "mode"),
        ({"words": ["a", 1]}, "words.1"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": "one"}, "seed"),
        ({"episode_id": "x" * 256}, "episode_id"),
        ({"episode_id": 7}, "episode_id"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_the_option_s_name(given: dict[str, Any], culprit: str) -> None:
    with pytest.raises(ValidationFailedError, match=f"reset option '{culprit}'") as caught:
        options_of(reset_by_level).check(given)
    assert not isinstance(caught.value, UnknownResetOptionError)


def test_seed_and_episode_id_are_accepted_always_and_passed_on_only_where_they_are_named() -> None:
    assert options_of(Minimal.reset).check({"seed": 1, "episode_id": "e"}) == {}
    assert options_of(reset_by_level).check({"seed": 1, "episode_id": "e"}) == {"seed": 1}


def test_an_option_without_a_default_must_be_given() -> None:
    def reset(self: Any, word: str) -> None: ...

    assert options_of(reset).check({"word": "x"}) == {"word": "x"}
    with pytest.raises(ValidationFailedError, match="reset option 'word'"):
        options_of(reset).check({})


def test_a_reset_that_takes_anything_gets_anything() -> None:
    def reset(self: Any, level: int = 1, **more: Any) -> None: ...

    given = {"level": "3", "seed": 1, "model_config": 2, "copy": 3, "option_0": 4}
    assert options_of(reset).check(given) == {**given, "level": 3}


def test_a_lenient_reset_drops_what_it_does_not_know() -> None:
    assert options_of(reset_by_level, lenient=True).check({"sede": 1, "level": 2}) == {"level": 2}


def test_an_option_may_have_any_name() -> None:
    def reset(
        self: Any, *, schema: str = "", copy: bool = False, model_config: int = 0, _hidden: int = 0, json: int = 0
    ) -> None: ...

    given = {"schema": "s", "copy": True, "model_config": 1, "_hidden": 2, "json": 3}
    assert options_of(reset).check(given) == given
    assert options_of(reset).known == sorted([*given, "seed", "episode_id"])


def test_an_annotation_that_cannot_be_resolved_leaves_the_value_alone() -> None:
    def reset(self: Any, *, board: "Nowhere" = None) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert options_of(reset).check({"board": [1]}) == {"board": [1]}


NAMES = st.text(max_size=8) | st.sampled_from(["seed", "episode_id", "level", "mode", "words"])


@given(st.dictionaries(NAMES, st.none() | st.integers() | st.text() | st.lists(st.integers()), max_size=4))
def test_whatever_is_sent_is_taken_or_refused_with_a_typed_error(given: dict[str, Any]) -> None:
    options = options_of(reset_by_level)
    if set(given) - set(options.known):
        with pytest.raises(UnknownResetOptionError):
            options.check(given)
        return
    with contextlib.suppress(ValidationFailedError):
        assert set(options.check(given)) == set(given) - {"episode_id"}


def make_typed() -> Typed:
    return Typed()


def make_anything() -> Any:
    return Typed()


@pytest.mark.parametrize(
    ("factory", "cls"),
    [
        (Typed, Typed),
        (functools.partial(Typed), Typed),
        (functools.partial(functools.partial(make_typed)), Typed),
        (make_typed, Typed),
        (make_anything, None),
        (lambda: Typed(), None),
    ],
)
def test_the_class_of_a_factory_is_told_without_calling_it(factory: Any, cls: type | None) -> None:
    assert class_of_factory(factory) is cls


def test_a_spec_reads_the_models_off_the_class() -> None:
    spec = EnvironmentSpec("typed", Typed, "client:Typed")
    assert (spec.action_type, spec.observation_type, spec.state_type) == (Guess, Board, Score)


def test_a_spec_needs_the_models_of_a_factory_that_does_not_tell() -> None:
    with pytest.raises(ConfigurationError, match="environment 'typed': action_type must be given"):
        EnvironmentSpec("typed", make_anything, "client:Typed")
    given = EnvironmentSpec(
        "typed", make_anything, "client:Typed", action_type=Guess, observation_type=Board, state_type=Score
    )
    assert given.action_type is Guess


def test_reset_and_step_are_the_author_s_to_write() -> None:
    bare: Environment[Any, Any, Any] = Environment()
    for verb, arguments in (("reset", []), ("step", [None])):
        with pytest.raises(NotImplementedError):
            getattr(bare, verb)(*arguments)
    with pytest.raises(NotImplementedError):
        bare.state  # noqa: B018 - reading it is the test
    assert bare.close() is None


def test_options_of_reset_have_a_json_schema() -> None:
    def reset(self: Any, *, seed: int | None = None, level: Literal["easy", "hard"] = "easy") -> None: ...

    schema = options_of(reset).json_schema()
    assert list(schema["properties"]) == ["seed", "episode_id", "level"]
    assert schema["properties"]["level"]["enum"] == ["easy", "hard"]


def test_options_that_have_no_json_schema_say_so() -> None:
    def reset(self: Any, *, call: Any = None, made: type[Any] | complex = complex(1)) -> None: ...

    class Odd: ...

    reset.__annotations__["made"] = Odd
    with pytest.raises(ValueError, match="Odd"):
        options_of(reset).json_schema()
