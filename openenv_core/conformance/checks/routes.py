"""What the server tells of itself."""

from typing import Any

from openenv_core.conformance.bench import Bench, attempt_json
from openenv_core.conformance.registry import Check
from openenv_core.conformance.report import Finding, failed, passed
from openenv_core.conformance.schemas import schema_fault

__all__ = ["CHECKS"]


def health(bench: Bench) -> Finding:
    """``/health`` says that the server is up."""
    response = bench.fetch("/health")
    body = attempt_json(response)
    status = body.get("status") if isinstance(body, dict) else None
    if response.status_code == 200 and status == "healthy":
        return passed("healthy")
    return failed(
        f"GET /health answered {response.status_code} with {response.text[:80]!r}",
        'answer 200 and {"status": "healthy"}, as what starts the server waits for that',
    )


def metadata(bench: Bench) -> Finding:
    """``/metadata`` has a name and a description."""
    response = bench.fetch("/metadata")
    body: Any = attempt_json(response)
    if response.status_code != 200 or not isinstance(body, dict):
        return failed(
            f"GET /metadata answered {response.status_code}",
            "let get_metadata return an EnvironmentMetadata, or drop it",
        )
    for name in ("name", "description"):
        if not isinstance(body.get(name), str) or not body[name].strip():
            return failed(
                f"the metadata's {name} is {body.get(name)!r}", "Give the class a docstring, or a get_metadata"
            )
    return passed(f"{body['name']}: {body['description'].strip()[:60]}")


def schema(bench: Bench) -> Finding:
    """``/schema`` has JSON schemas of the action, the observation and the state."""
    for name, found in bench.schemas.items():
        fault = schema_fault(found)
        if fault is not None:
            return failed(
                f"the schema of {name} is not a JSON schema: {fault}", "correct the model's json_schema_extra"
            )
    return passed(", ".join(bench.schemas))


CHECKS = (
    Check("health", "the server says that it is up", health),
    Check("metadata", "the environment has a name and a description", metadata),
    Check("schema", "action, observation and state have JSON schemas", schema),
)
