"""Models come out of the wire as they went in."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from pydantic import TypeAdapter, ValidationError

from openenv_core.conformance.bench import Bench
from openenv_core.conformance.records import document_difference, text_of
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed, skipped
from openenv_core.conformance.values import value_difference
from openenv_core.environment import EnvironmentSpec
from openenv_core.errors import OpenEnvError, UnsupportedOperationError
from openenv_core.sampling import sample_from_schema
from openenv_core.wire import openenv_v1 as v1
from openenv_core.wire.calls import Calls, V1Calls, V2Calls
from openenv_core.wire.codec import ServerCodec, encode_observation, encode_state
from openenv_core.wire.values import model_json, parse_json

__all__ = ["CHECKS"]

_INSTANCES = 40
_TRIES = 400

Way = Callable[[Any], Any]


def models_round_trip(bench: Bench) -> Finding:
    """Instances made at random, and those that were seen, are equal to what the other end reads."""
    spec = bench.subject.spec
    if spec is None:
        return skipped("only the models themselves can tell, and they are behind a server")
    random = Random(f"instances for seed {bench.options.seed}")
    unmade, count = [], 0
    for kind, model_type in (
        ("action", spec.action_type),
        ("observation", spec.observation_type),
        ("state", spec.state_type),
    ):
        instances = list(_instances(model_type, random))
        if not instances:
            unmade.append(kind)
        if kind == "observation":
            adapter = TypeAdapter(model_type)
            instances += [
                adapter.validate_json(turn.observation) for e in bench.episodes for turn in e.turns if turn.observation
            ]
        ways = list(_ways(spec, kind))
        for instance in instances:
            count += 1
            if fault := _loss(kind, instance, ways):
                return failed(
                    fault,
                    "An instance must be the same after a way through JSON: look at its serializers and validators",
                )
    if unmade:
        return skipped(
            f"no instance of the {' and '.join(unmade)} could be made from its schema; {count} others came through"
        )
    return passed(f"{count} instances came through unchanged")


def _instances(model_type: Any, random: Random) -> Iterator[Any]:
    """Instances that the model accepts, everyday ones and odd ones."""
    adapter: TypeAdapter[Any] = TypeAdapter(model_type)
    schema = adapter.json_schema()
    made = 0
    for number in range(_TRIES):
        if made == _INSTANCES:
            return
        try:
            yield adapter.validate_json(text_of(sample_from_schema(schema, random, wild=number % 3 > 0)))
        except (ValidationError, UnsupportedOperationError):
            continue
        made += 1


def _loss(kind: str, instance: Any, ways: list[tuple[str, Way]]) -> str | None:
    for version, way in ways:
        try:
            arrived = way(instance)
        except OpenEnvError as error:
            return f"an {kind} does not survive protocol version {version}: {error.message}"
        difference = value_difference(instance, arrived)
        if difference is not None:
            written = document_difference(parse_json(model_json(instance)), parse_json(model_json(arrived)))
            return f"an {kind} changes on its way through protocol version {version}: {written or difference}"
    return None


def _ways(spec: EnvironmentSpec, kind: str) -> Iterator[tuple[str, Way]]:
    """The ways through the wire, by protocol version. A picture of version 1 is not the file that was sent."""
    second = V2Calls(spec.observation_type, spec.state_type)
    first = V1Calls(spec.observation_type, spec.state_type)
    if kind == "action":
        codec, reader = ServerCodec(spec.action_type), v1.RequestReader(spec.action_type)
        yield "2", lambda action: _decoded(codec.decode(second.step(1, "s", action, None))[0])
        yield "1", lambda action: reader.read(first.step(1, "s", action, None)).data
    elif kind == "observation":
        yield "2", lambda seen: _answer(second, encode_observation(1, "s", seen, truncated=False)).observation
        if "image/" not in text_of(TypeAdapter(spec.observation_type).json_schema()):
            yield (
                "1",
                lambda seen: (
                    _first(first, v1.encode_observation(seen, truncated=getattr(seen, "truncated", False))).observation
                ),
            )
    else:
        yield "2", lambda told: _answer(second, encode_state(1, "s", told))
        yield "1", lambda told: _first(first, v1.encode_state(told))


def _decoded(frame: Any) -> Any:
    if frame.type == "bad":
        raise frame.error
    return frame.data


def _first(calls: V1Calls, message: bytes) -> Any:
    calls.state(1, "s")  # version 1 reads a reply only where a request is out
    return _answer(calls, message)


def _answer(calls: Calls, message: bytes) -> Any:
    answer: Any = calls.feed(message)[0]
    if answer.error is not None:
        raise answer.error
    return answer.value


CHECKS = (
    Check(
        "models_round_trip",
        "models come out of the wire as they went in",
        models_round_trip,
        needs=("observation_schema",),
    ),
)
