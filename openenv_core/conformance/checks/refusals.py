"""What must be refused, by name, without harm to the session."""

from typing import Any

from openenv_core.conformance.bench import Bench
from openenv_core.conformance.play import attempt, is_alive, options_of
from openenv_core.conformance.records import text_of
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.conformance.schemas import wrong_actions
from openenv_core.errors import OpenEnvError, ValidationFailedError

__all__ = ["CHECKS"]

_NO_OPTION = "no_such_option"
_WRONG_OPTIONS: tuple[dict[str, Any], ...] = ({"seed": -1}, {"seed": "many"}, {"episode_id": "x" * 256})


def unknown_reset_option(bench: Bench) -> Finding:
    """A reset option that the environment does not have is refused by name."""
    traits = bench.traits
    if traits is not None and traits.reset_options.takes_any:
        return skipped(
            "its reset takes any option, so a misspelt one is not noticed: name the options to have them checked"
        )
    if traits is not None and traits.lenient:
        return skipped("the class is lenient: it drops options that it does not know")
    with bench.client() as client:
        session = client.session_id
        _, error = attempt(client.reset, **{_NO_OPTION: 1})
        if error is None:
            return failed(
                f"reset({_NO_OPTION}=1) was accepted: a misspelt seed would be dropped without a word",
                "name the options in reset's signature, and leave episode_policy = 'strict'",
            )
        if not isinstance(error, ValidationFailedError) or _NO_OPTION not in f"{error.message} {error.details}":
            return failed(_bare(f"reset({_NO_OPTION}=1)", error), "leave the check of options to the framework")
        fault = is_alive(client, session)
    if fault is not None:
        return failed(f"reset({_NO_OPTION}=1) was refused, and {fault}", "a refusal must leave the session as it was")
    return passed("refused by name; the session lives")


def wrong_reset_option(bench: Bench) -> Finding:
    """A seed or an episode id of the wrong kind is refused."""
    with bench.client() as client:
        session = client.session_id
        for options in _WRONG_OPTIONS:
            call = f"reset({', '.join(f'{name}={value!r:.20}' for name, value in options.items())})"
            _, error = attempt(client.reset, **options)
            if error is None:
                return failed(f"{call} was accepted", "leave the check of seed and episode_id to the framework")
            if not isinstance(error, ValidationFailedError):
                return failed(_bare(call, error), "leave the check of seed and episode_id to the framework")
        fault = is_alive(client, session)
    if fault is not None:
        return failed(f"wrong options were refused, and {fault}", "a refusal must leave the session as it was")
    return passed(f"{len(_WRONG_OPTIONS)} wrong options refused; the session lives")


def invalid_action(bench: Bench) -> Finding:
    """An action outside its schema is refused, and changes nothing."""
    played = bench.episodes[0]
    good = played.legal_action
    if good is None:
        return skipped("no legal action is known")
    wrong = list(wrong_actions(bench.schemas["action"], good))
    if not wrong:
        return skipped("the action's schema allows anything: type its fields to have actions checked")
    remedy = (
        "Let the action class forbid what it does not know (as openenv_core.types.Action does), and type its fields"
    )
    with bench.client() as client:
        client.reset(**options_of(played.seed, played.episode_id))
        session, before = client.session_id, client.state().model_dump()
        for what, action in wrong:
            _, error = attempt(client.step, action)
            if error is None:
                return failed(f"an action with {what} was accepted: {text_of(action):.100}", remedy)
            if not isinstance(error, ValidationFailedError):
                return failed(_bare(f"an action with {what}", error), remedy)
        if client.session_id != session or client.state().model_dump() != before:
            return failed("refused actions changed the state", "look at no action before it is validated")
        _, error = attempt(client.step, good)
    if error is not None and not isinstance(error, ValidationFailedError):
        return failed(f"after refused actions a good one failed: {error.message}", remedy)
    return passed(f"{len(wrong)} wrong actions refused; the session lives")


def _bare(call: str, error: OpenEnvError) -> str:
    return f"{call} ended in {error.code}: {error.message}"


CHECKS = (
    Check("unknown_reset_option", "an unknown reset option is refused by name", unknown_reset_option, needs=("plays",)),
    Check("wrong_reset_option", "a wrong seed or episode id is refused", wrong_reset_option, needs=("plays",)),
    Check("invalid_action", "an action outside its schema is refused", invalid_action, needs=("plays",)),
)
