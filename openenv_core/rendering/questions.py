"""What a person is asked for an action: made from its JSON schema, and from what the observation offers."""

import difflib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from openenv_core.rendering.text import visible

__all__ = ["Choice", "Question", "meanings_of", "questions_of", "summary_of"]

_MAX_CHOICES: Final = 200
_HIDDEN: Final = "metadata"
_YES: Final = ("y", "yes", "true", "1")
_NO: Final = ("n", "no", "false", "0")

_GYMNASIUM_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "Acrobot": ("torque left", "no torque", "torque right"),
    "Blackjack": ("stick", "hit"),
    "CartPole": ("push left", "push right"),
    "CliffWalking": ("up", "right", "down", "left"),
    "FrozenLake": ("left", "down", "right", "up"),
    "FrozenLake8x8": ("left", "down", "right", "up"),
    "LunarLander": ("nothing", "fire left engine", "fire main engine", "fire right engine"),
    "MountainCar": ("accelerate left", "nothing", "accelerate right"),
    "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
}
"""What the numbered actions of some environments mean, as Gymnasium's documentation tells it."""


@dataclass(frozen=True)
class Choice:
    """One value that may be given, with its name; the name is empty where the value says it all."""

    value: Any
    name: str = ""


@dataclass(frozen=True)
class Question:
    """One field of an action.

    Attributes:
        field: its name.
        kind: what is typed: ``text`` as it is; ``choice`` a value or a name of ``choices``; ``json`` anything as JSON.
        choices: what may be given.
        low, high: bounds of a number.
        meaning: what the schema says of the field.
        template: what a text is put into, at ``{}``; empty for a text that is sent as it is.
    """

    field: str
    kind: Literal["text", "integer", "number", "boolean", "choice", "json"]
    choices: tuple[Choice, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    meaning: str = ""
    template: str = ""

    def read(self, line: str) -> Any:
        """The value that a typed line stands for.

        Raises:
            ValueError: it stands for none; the message tells what can be typed.
        """
        if self.kind == "text":
            return self._worded(line)
        word = line.strip()
        if not word:
            raise ValueError(f"nothing was typed; {self.hint}")
        if self.kind == "choice":
            return self._chosen(word)
        if self.kind == "boolean":
            if word.lower() not in (*_YES, *_NO):
                raise ValueError(f"{visible(word)!r} is neither yes nor no")
            return word.lower() in _YES
        if self.kind == "json":
            try:
                return json.loads(word)
            except ValueError as error:
                raise ValueError(f"this is not JSON: {error}; {self.hint}") from None
        return self._number(word)

    @property
    def hint(self) -> str:
        """What can be typed, in a few words."""
        if self.kind == "choice":
            shown = ", ".join(_told(choice) for choice in self.choices[:20])
            return f"choose one of: {shown}{', …' if len(self.choices) > 20 else ''}"
        if self.kind in ("integer", "number"):
            what = "a whole number" if self.kind == "integer" else "a number"
            if math.isfinite(self.low) and math.isfinite(self.high):
                return f"type {what} from {self.low:g} to {self.high:g}"
            if math.isfinite(self.low) or math.isfinite(self.high):
                bound = f"{self.low:g} or more" if math.isfinite(self.low) else f"{self.high:g} or less"
                return f"type {what}, {bound}"
            return f"type {what}"
        return {"text": "type any text", "boolean": "type y or n", "json": 'type JSON: 3, "a", [1, 2] or {"b": 4}'}[
            self.kind
        ]

    def _worded(self, line: str) -> str:
        mark = self.template[:1]
        return self.template.replace("{}", line.strip()) if mark and line.strip() and mark not in line else line

    def _chosen(self, word: str) -> Any:
        wanted = word.casefold()
        for names in ((str(choice.value) for choice in self.choices), (choice.name for choice in self.choices)):
            found = [choice for choice, name in zip(self.choices, names, strict=True) if name.casefold() == wanted]
            if found:
                return found[0].value
        near = [choice for choice in self.choices if (choice.name or str(choice.value)).casefold().startswith(wanted)]
        if len(near) == 1:
            return near[0].value
        if near:
            raise ValueError(f"{visible(word)!r} may be {' or '.join(_told(choice) for choice in near[:8])}")
        known = {(choice.name or str(choice.value)).casefold(): choice for choice in self.choices}
        close = difflib.get_close_matches(wanted, known, n=1)
        hint = f"did you mean {_told(known[close[0]])}?" if close else self.hint
        raise ValueError(f"{visible(word)!r} is not among the choices; {hint}")

    def _number(self, word: str) -> int | float:
        try:
            value = int(word) if self.kind == "integer" else float(word)
        except ValueError:
            raise ValueError(
                f"{visible(word)!r} is not {'a whole' if self.kind == 'integer' else 'a'} number"
            ) from None
        if not self.low <= value <= self.high:
            raise ValueError(f"{word} is out of bounds; {self.hint}")
        return value


def _told(choice: Choice) -> str:
    return f"{visible(str(choice.value))} = {visible(choice.name)}" if choice.name else visible(str(choice.value))


def questions_of(
    schema: Mapping[str, Any], observation: Mapping[str, Any], facts: Mapping[str, Any]
) -> tuple[Question, ...]:
    """What to ask, one field after the other; empty where only a whole action as JSON will do.

    Fields with a default are not asked, unless all have one.

    Args:
        schema: the action's JSON schema.
        observation: the last one, which may list what is legal (``legal_actions``, ``legal_action_names``).
        facts: the environment's state.
    """
    properties = {name: part for name, part in schema.get("properties", {}).items() if name != _HIDDEN}
    required = [name for name in schema.get("required", ()) if name in properties]
    meanings = meanings_of(str(schema.get("description", "")))
    asked = [_question(name, properties[name], schema, meanings) for name in required or properties]
    if len(asked) == 1:
        choices = _offered(asked[0], observation, facts)
        if choices:
            return (replace(asked[0], kind="choice", choices=choices),)
        if asked[0].kind == "text" and "delta" in observation and "env_id" in facts:
            # TextArena wants moves in square brackets, which nobody likes to type.
            return (replace(asked[0], template="[{}]"),)
    return tuple(asked)


def _offered(question: Question, observation: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[Choice, ...] | None:
    legal = observation.get("legal_actions")
    if isinstance(legal, list) and legal and question.kind in ("integer", "text", "json"):
        names = observation.get("legal_action_names")
        names = names if isinstance(names, list) and len(names) == len(legal) else [""] * len(legal)
        return tuple(Choice(value, str(name)) for value, name in zip(legal, names, strict=True))
    if question.kind != "integer" or not question.high - question.low < _MAX_CHOICES:
        return None
    values = range(int(question.low), int(question.high) + 1)
    known = _GYMNASIUM_NAMES.get(str(facts.get("gymnasium_id", "")).partition("-v")[0], ())
    names = known if len(known) == len(values) else ("",) * len(values)
    return tuple(Choice(value, name) for value, name in zip(values, names, strict=True))


def _question(name: str, part: Mapping[str, Any], root: Mapping[str, Any], meanings: Mapping[str, str]) -> Question:
    part = _plain(part, root)
    meaning = str(part.get("description") or meanings.get(name, ""))
    values = part["enum"] if "enum" in part else [part["const"]] if "const" in part else None
    if values is not None:
        return Question(name, "choice", tuple(Choice(value) for value in values[:_MAX_CHOICES]), meaning=meaning)
    kind = part.get("type")
    if kind == "string":
        return Question(name, "text", meaning=meaning)
    if kind == "boolean":
        return Question(name, "boolean", meaning=meaning)
    if kind in ("integer", "number"):
        # An exclusive bound is shown as if it were none: the server knows better and says so.
        low = part.get("minimum", part.get("exclusiveMinimum", -math.inf))
        high = part.get("maximum", part.get("exclusiveMaximum", math.inf))
        return Question(name, "integer" if kind == "integer" else "number", low=low, high=high, meaning=meaning)
    return Question(name, "json", meaning=meaning)


def summary_of(schema: Mapping[str, Any]) -> str:
    """The first paragraph of a schema's description, in one line."""
    paragraph = str(schema.get("description", "")).strip().partition("\n\n")[0]
    return " ".join(paragraph.replace("``", "`").split())


def meanings_of(docstring: str, section: str = "Attributes:") -> dict[str, str]:
    """What a docstring's section says of each name; several names may share a line."""
    lines = docstring.partition(section)[2].partition("\n\n")[0]
    found = re.findall(r"^( +)([\w, ]+): (.+(?:\n\1 +.+)*)", lines, re.MULTILINE)
    return {
        name.strip(): " ".join(text.replace("``", "`").split()) for _, names, text in found for name in names.split(",")
    }


def _plain(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a field without its reference, and without the ``null`` that it may be instead."""
    for _ in range(8):
        reference = str(part.get("$ref", ""))
        options = [option for option in part.get("anyOf", ()) if option.get("type") != "null"]
        if reference.startswith("#/$defs/"):
            found = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {})
            part = {**found, **{key: value for key, value in part.items() if key != "$ref"}}
        elif len(options) == 1:
            part = {**options[0], **{key: value for key, value in part.items() if key != "anyOf"}}
        else:
            return part
    return {}
