"""What a new project starts from: the template's own game, an environment of Gymnasium, or functions."""

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openenv_core.errors import ConfigurationError
from openenv_core.extras import needs_extra
from openenv_core.packaging.functions import tools_from
from openenv_core.packaging.templating import template_text

__all__ = ["Origin", "read_origin"]


@dataclass(frozen=True)
class Origin:
    """How a new project differs from the template.

    Attributes:
        overlay: the template's folder whose files take the place of the common ones; ``None`` for none.
        description: of the environment, one line.
        replacements: texts of those files, with what stands there instead.
        files: further files of the server's package, by name.
        requires: further requirements of the server.
    """

    overlay: str | None
    description: str
    replacements: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    requires: tuple[str, ...] = ()


_TEMPLATE = Origin(None, "Think of a number, and answer guesses with higher or lower.")


def read_origin(sources: list[str]) -> Origin:
    """What ``--from`` says: nothing, ``gym:ID``, or one or more of ``function:module:name``.

    Raises:
        ConfigurationError: it is none of them, or there is no such thing.
    """
    if not sources:
        return _TEMPLATE
    if sources[0].startswith("gym:") and len(sources) == 1:
        return _from_gymnasium(sources[0].removeprefix("gym:"))
    if all(source.startswith("function:") for source in sources):
        made = tools_from([source.removeprefix("function:") for source in sources])
        return Origin("tools", made.description, made.replacements, made.files, made.requires)
    raise ConfigurationError("--from is gym:ID, or function:module:name, the latter as often as there are functions")


def _from_gymnasium(environment_id: str) -> Origin:
    try:
        import gymnasium
        from gymnasium.error import Error
    except ImportError:
        raise ConfigurationError(needs_extra("--from gym:ID needs", "gymnasium")) from None
    try:
        made = gymnasium.make(environment_id)
    except (Error, ImportError) as error:
        raise ConfigurationError(f"Gymnasium makes no {environment_id!r}: {error}") from error
    action, observation = _annotation(made.action_space), _annotation(made.observation_space)
    made.close()
    models = template_text("gym/acme_env/models.py")
    replacements = {"CartPole-v1": environment_id, models: _models(models, action, observation)}
    version = ".".join(importlib.metadata.version("gymnasium").split(".")[:2])
    module = str(getattr(made.spec, "entry_point", ""))
    extra = next((name for part, name in _GYMNASIUM_EXTRAS.items() if part in module), "")
    return Origin(
        "gym", f"Gymnasium's {environment_id}.", replacements, requires=(f"gymnasium{extra}>={version}", "pillow>=11")
    )


_GYMNASIUM_EXTRAS = {
    "gymnasium.envs.box2d": "[box2d]",
    "gymnasium.envs.classic_control": "[classic-control]",
    "gymnasium.envs.mujoco": "[mujoco]",
    "gymnasium.envs.toy_text": "[toy-text]",
}


def _models(text: str, action: str, observation: str) -> str:
    """The template's models with the types of two spaces; what is not used is not imported."""
    used = action + observation
    typing = ", ".join(name for name in ("Annotated", "Any") if f"{name}" in used)
    text = text.replace("Annotated[int, Field(ge=0, le=1)]\n", f"{action}\n")
    text = text.replace("ObservationValue = list[Any]\n", f"ObservationValue = {observation}\n")
    if "Field(" not in used:
        text = text.replace("from pydantic import Field\n", "")
    return text.replace("from typing import Annotated, Any\n\n", f"from typing import {typing}\n\n")


def _annotation(space: Any) -> str:
    """The annotation of the plain form of a space's values."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        low = int(space.start)
        return f"Annotated[int, Field(ge={low}, le={low + int(space.n) - 1})]"
    if isinstance(space, spaces.Text):
        return f"Annotated[str, Field(min_length={space.min_length}, max_length={space.max_length})]"
    if isinstance(space, spaces.Dict):
        return "dict[str, Any]"
    shape = getattr(space, "shape", None)
    if (
        shape is not None
        and len(shape) == 1
        and isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary)
    ):
        kind = "float" if getattr(space.dtype, "kind", "") == "f" else "int"
        return f"Annotated[list[{kind}], Field(min_length={shape[0]}, max_length={shape[0]})]"
    return "list[Any]" if isinstance(space, spaces.Box | spaces.Tuple) else "Any"
