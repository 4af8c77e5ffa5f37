"""All that the page tells of an environment before anybody plays."""

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from openenv_core import __version__
from openenv_core.environment import EnvironmentSpec, class_of_factory, traits_of
from openenv_core.errors import OpenEnvError
from openenv_core.rendering import summary_of
from openenv_core.sampling import sample_from_schema
from openenv_core.server.gateway import Gateway
from openenv_core.server.playground.fields import Field, fields_of, with_meanings
from openenv_core.server.playground.readme import found_readme, markdown_html
from openenv_core.settings import ServerSettings
from openenv_core.targets import installed

__all__ = ["About", "Model", "about_of", "example_action", "reset_schema"]


@dataclass(frozen=True)
class Model:
    """One of the environment's models, for people: its name here, one line, its fields, its JSON schema."""

    title: str
    summary: str
    fields: list[Field]
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class About:
    """What a page tells.

    Attributes:
        name: the environment's name.
        description: one line.
        version: of the environment, or of the framework.
        readme: HTML.
        models: of the options of reset, the action, the observation and the state.
        limits: pairs of a name and a value.
        links: pairs of a text and an address.
    """

    name: str
    description: str
    version: str
    readme: str
    models: list[Model]
    limits: list[tuple[str, str]]
    links: list[tuple[str, str]]


async def about_of(gateway: Gateway, factory: Any, spec: EnvironmentSpec | None) -> About:
    """Gather it, once."""
    cls = class_of_factory(factory)
    try:
        metadata = await gateway.metadata()
        told, described, version = metadata.readme_content, metadata.description, metadata.version
        address = metadata.documentation_url
    except OpenEnvError:
        told, described, version, address = None, "", None, None
    entry = installed().get(spec.name) if spec is not None else None
    schema = gateway.schema()
    space = os.environ.get("SPACE_ID", "")
    links = [("API reference", "../docs"), ("Documentation", address or "")]
    links += [("The Space", f"https://huggingface.co/spaces/{space}" if space else "")]
    return About(
        name=gateway.env_name,
        description=(spec.description if spec is not None else "") or described,
        version=version or __version__,
        readme=markdown_html(found_readme(told, entry, cls)),
        models=[
            _model("Options of reset", reset_schema(cls)),
            _model("Action", schema["action"]),
            _model("Observation", schema["observation"]),
            _model("State", schema["state"]),
        ],
        limits=_limits(gateway.settings, cls),
        links=[(text, to) for text, to in links if to],
    )


def _model(title: str, schema: Mapping[str, Any]) -> Model:
    summary = "" if title == "Options of reset" else summary_of(schema).replace("`", "")
    return Model(title, summary, fields_of(schema), schema)


def reset_schema(cls: type[Any] | None) -> dict[str, Any]:
    """JSON schema of the options of ``reset``; of those that are known everywhere where it cannot be made."""
    common = {
        "seed": {"type": "integer", "minimum": 0, "description": "determines the episode"},
        "episode_id": {"type": "string", "maxLength": 255, "description": "a name for the episode"},
    }
    if cls is None:
        return {"type": "object", "properties": common}
    traits = traits_of(cls)
    try:
        schema = traits.reset_options.json_schema()
    except ValueError:
        return {"type": "object", "properties": common}
    method = getattr(cls, "reset", None)
    schema = with_meanings(schema, inspect.getdoc(method) or "")
    for name, part in common.items():
        schema["properties"][name].setdefault("description", part["description"])
    return schema


def example_action(gateway: Gateway, spec: EnvironmentSpec | None) -> dict[str, Any]:
    """A typical action: the one that the author gives, else one that fits the schema."""
    if spec is not None and spec.example_action is not None:
        return dict(spec.example_action)
    schema = gateway.schema()["action"]
    try:
        made = sample_from_schema(schema, Random(7))
    except OpenEnvError:
        return {}
    required = schema.get("required", ())
    return {name: value for name, value in made.items() if name in required} if isinstance(made, dict) else {}


def _limits(settings: ServerSettings, cls: type[Any] | None) -> list[tuple[str, str]]:
    traits = None if cls is None else traits_of(cls)
    deadline = settings.step_deadline_s
    if traits is not None and traits.step_deadline_s is not None:
        deadline = min(deadline, traits.step_deadline_s)
    steps = None if traits is None else traits.max_steps
    return [
        ("Sessions at a time", f"{settings.max_sessions}"),
        ("Callers that may wait for one", f"{settings.max_queue}"),
        ("Steps of an episode", "as the environment decides" if steps is None else f"{steps}, then it is truncated"),
        ("One reset, step or state", f"{deadline:g} s"),
        ("A session waits for a lost client", f"{settings.resume_grace_s:g} s"),
        ("An unused session ends after", f"{settings.idle_timeout_s:g} s"),
        ("An unused session of this page ends after", f"{settings.http_idle_timeout_s:g} s"),
        ("Largest message", f"{settings.max_message_bytes / 2**20:g} MiB"),
    ]
