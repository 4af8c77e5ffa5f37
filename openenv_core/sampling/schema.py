"""Values that fit a JSON schema: actions for environments that name no way of making them, and instances of models.

Made for the schemas that pydantic writes: references, unions with and without a discriminator, enumerations, bounds,
lengths, plain patterns, the usual formats, nested and recursive models. What cannot be made is refused, never made
wrong: a value is not checked afterwards.
"""

import base64
import math
import struct
import zlib
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from openenv_core.errors import UnsupportedOperationError
from openenv_core.sampling.patterns import matching_text

__all__ = ["Sampler", "sample_from_schema"]

_DEEP = 5
"""From this depth on a value is kept as small as its schema allows, so that recursive models end."""

_TOO_DEEP = 60
_WILD_TEXTS = (
    "",
    " ",
    "é☃😀",
    'quotes " and \\',
    "line\nbreak\ttab",
    "\u2028\u0000",
    "<b>&amp;</b>",
    "NaN",
    "null",
    "0",
)
_WILD_NUMBERS = (0.0, -0.0, 1e-7, 1e22, -123456789.125, 0.1, 5e-324)
_WILD_INTEGERS = (0, -1, 2**31, -(2**53), 2**53)
_VOWELS = "aeiou"
_CONSONANTS = "bcdfghklmnprstvw"


def sample_from_schema(schema: Mapping[str, Any], random: Random, *, wild: bool = False) -> Any:
    """One value, as JSON knows it, that fits the schema.

    Args:
        schema: a JSON schema; its references point into itself.
        random: where choices come from; the same state gives the same value.
        wild: values at the edges (empty and odd texts, very large and small numbers) rather than everyday ones.

    Raises:
        UnsupportedOperationError: the schema asks for something that is not supported here; the message names it.
    """
    return Sampler(schema, random, wild=wild).sample()


class Sampler:
    """Makes values for one schema. The arguments are those of :func:`sample_from_schema`."""

    def __init__(self, schema: Mapping[str, Any] | bool, random: Random, *, wild: bool = False) -> None:
        self._root = schema
        self._random = random
        self._wild = wild
        self._makers: dict[str, Callable[[Mapping[str, Any], int], Any]] = {
            "object": self._object,
            "array": self._array,
            "string": lambda schema, depth: self._string(schema),
            "integer": lambda schema, depth: self._integer(schema),
            "number": lambda schema, depth: self._number(schema),
            "boolean": lambda schema, depth: self._random.random() < 0.5,
            "null": lambda schema, depth: None,
        }

    def sample(self) -> Any:
        """One value. Raises as :func:`sample_from_schema` does."""
        return self._value(self._root, 0)

    def _value(self, schema: Any, depth: int) -> Any:
        if schema is False or depth > _TOO_DEEP:
            raise UnsupportedOperationError("no value fits this schema, or none of finite size")
        if schema is True or not schema:
            return self._anything(depth)
        schema = self._resolved(schema)
        listed = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None
        if listed is None and schema.get("examples") and not self._wild and self._random.random() < 0.5:
            listed = schema["examples"]  # the author's own idea of a sensible value
        if listed is not None:
            return self._random.choice(listed)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return self._alternative(schema, union, depth)
        return self._typed(schema, depth)

    def _typed(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind = schema.get("type") or _implied_type(schema)
        if kind is None:
            return self._anything(depth)
        if isinstance(kind, list):
            kind = self._random.choice(kind)
        if kind not in self._makers:
            raise UnsupportedOperationError(f"no value can be made for the JSON schema type {kind!r}")
        return self._makers[kind](schema, depth)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema with its reference and its ``allOf`` put in their place."""
        for _ in range(_TOO_DEEP):
            if "$ref" in schema:
                rest = {key: value for key, value in schema.items() if key != "$ref"}
                schema = _merged(self._referenced(schema["$ref"]), rest)
            elif "allOf" in schema:
                rest = {key: value for key, value in schema.items() if key != "allOf"}
                for part in schema["allOf"]:
                    rest = _merged(rest, self._resolved(part))
                schema = rest
            else:
                return schema
        raise UnsupportedOperationError("the schema's references go round in a circle")

    def _referenced(self, reference: str) -> Mapping[str, Any]:
        found: Any = self._root
        try:
            marker, *parts = reference.split("/")
            if marker != "#":
                raise KeyError(reference)
            for part in parts:
                found = found[part.replace("~1", "/").replace("~0", "~")]
        except (KeyError, TypeError):
            raise UnsupportedOperationError(f"the schema's reference {reference!r} leads nowhere") from None
        return found if isinstance(found, Mapping) else {}

    def _alternative(self, schema: Mapping[str, Any], union: str, depth: int) -> Any:
        rest = {key: value for key, value in schema.items() if key not in (union, "discriminator", "default")}
        choices = [each if each is not True else {} for each in schema[union] if each is not False]
        if depth >= _DEEP:
            # Scalars first: they end a recursive model.
            choices.sort(key=lambda each: _weight(self._resolved(each)))
        else:
            self._random.shuffle(choices)
        problem: UnsupportedOperationError | None = None
        for choice in choices:
            try:
                return self._value(_merged(rest, self._resolved(choice)), depth + 1)
            except UnsupportedOperationError as error:
                problem = error
        raise problem or UnsupportedOperationError(f"the schema's {union} is empty")

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        # A name may be required without a schema of its own.
        other = schema.get("additionalProperties", True)
        made = {name: self._value(properties.get(name, other), depth + 1) for name in required}
        for name, value in properties.items():
            if name in required:
                continue
            if depth < _DEEP and self._random.random() < 0.5:
                try:
                    made[name] = self._value(value, depth + 1)
                except UnsupportedOperationError:
                    continue  # it need not be there
        missing = max(schema.get("minProperties", 0) - len(made), 0)
        return {**made, **self._more_entries(schema, missing, depth)}

    def _more_entries(self, schema: Mapping[str, Any], missing: int, depth: int) -> dict[str, Any]:
        """Entries of a mapping, which has no names of its own."""
        extra = schema.get("additionalProperties", "properties" not in schema)
        if extra is False:
            return {}
        count = missing
        if depth < _DEEP and (self._wild or "properties" not in schema):
            count = max(missing, self._random.randint(0, min(2, schema.get("maxProperties", 2))))
        names = schema.get("propertyNames", {})
        entries: dict[str, Any] = {}
        for _ in range(10 * count):
            if len(entries) == count:
                break
            name = str(self._value({"type": "string", **self._resolved(names)}, depth)) or self._word(4, 8)
            if name not in schema.get("properties", {}):
                entries[name] = self._value(extra, depth + 1)
        return entries

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        low = schema.get("minItems", 0)
        high = schema.get("maxItems", max(low, low + 3 if depth < _DEEP else low))
        count = self._random.randint(low, max(low, min(high, low + 4))) if depth < _DEEP else low
        prefix = schema.get("prefixItems", [])
        items = schema.get("items", True)
        if items is False:
            count = min(count, len(prefix))
        made: list[Any] = []
        for _ in range(20 * count):
            if len(made) == count:
                break
            value = self._value(prefix[len(made)] if len(made) < len(prefix) else items, depth + 1)
            if not schema.get("uniqueItems") or value not in made:
                made.append(value)
        if len(made) < low:
            raise UnsupportedOperationError(f"no {low} different items could be made for an array")
        return made

    def _string(self, schema: Mapping[str, Any]) -> str:
        low, high = schema.get("minLength", 0), schema.get("maxLength", math.inf)
        if "pattern" in schema:
            for _ in range(50):
                text = matching_text(schema["pattern"], self._random)
                if low <= len(text) <= high:
                    return text
            raise UnsupportedOperationError(f"no text of the right length was found for {schema['pattern']!r}")
        special = self._special_text(schema)
        if special is not None:
            return special
        if self._wild and self._random.random() < 0.7:
            text = self._random.choice(_WILD_TEXTS)
            if low <= len(text) <= high:
                return text
        longest = int(min(high, max(low, 12)))
        return self._word(max(low, min(3, longest)), longest)

    def _special_text(self, schema: Mapping[str, Any]) -> str | None:
        """The text of a known format or content."""
        random = self._random
        if str(schema.get("contentMediaType", "")).startswith("image/"):
            return base64.b64encode(_png(random.randint(0, 255))).decode("ascii")
        if schema.get("contentEncoding", schema.get("format")) in ("base64", "base64url"):
            return base64.b64encode(self._word(3, 9).encode()).decode("ascii")
        day = f"20{random.randint(0, 99):02}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
        time = f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"
        word = self._word(3, 8)
        formats = {
            "date": day,
            "time": f"{time}Z",
            "date-time": f"{day}T{time}Z",
            "duration": f"PT{random.randint(1, 999)}S",
            "email": f"{word}@example.com",
            "hostname": f"{word}.example",
            "ipv4": f"127.0.0.{random.randint(1, 254)}",
            "ipv6": f"::{random.randint(1, 9999)}",
            "uri": f"https://example.com/{word}",
            "uuid": f"{random.getrandbits(32):08x}-0000-4000-8000-{random.getrandbits(48):012x}",
            "json-string": f'"{word}"',
            "path": word,
        }
        return formats.get(schema.get("format", ""))

    def _word(self, low: int, high: int) -> str:
        length = self._random.randint(low, high)
        return "".join(self._random.choice(_VOWELS if index % 2 else _CONSONANTS) for index in range(length))

    def _integer(self, schema: Mapping[str, Any]) -> int:
        low, high = _bounds(schema)
        step = schema.get("multipleOf", 1)
        if low == -math.inf and high == math.inf:
            # Most numbers that an author leaves unbounded are small: an index, a count.
            few = _WILD_INTEGERS if self._wild else (-1, 100, 1000)
            kind = self._random.random()
            value = self._random.choice(few) if kind < 0.2 else self._random.randint(0, 9 if kind < 0.75 else 99)
            return int(value * step)
        low = low if low != -math.inf else high - 100 * step
        high = high if high != math.inf else low + 100 * step
        first = math.ceil(low / step) + (schema.get("exclusiveMinimum") == math.ceil(low / step) * step)
        last = math.floor(high / step) - (schema.get("exclusiveMaximum") == math.floor(high / step) * step)
        if first > last:
            raise UnsupportedOperationError(f"no integer fits the bounds of {dict(schema)}")
        at_the_edge = self._random.random() < (0.5 if self._wild else 0.1)
        return int((self._random.choice((first, last)) if at_the_edge else self._random.randint(first, last)) * step)

    def _number(self, schema: Mapping[str, Any]) -> float:
        low, high = _bounds(schema)
        if "multipleOf" in schema:
            step = schema["multipleOf"]
            first = math.ceil(low / step) if low != -math.inf else -100
            last = math.floor(high / step) if high != math.inf else max(first, 0) + 100
            return float(self._random.randint(first, last) * step)
        if self._wild and self._random.random() < 0.5:
            value = self._random.choice(_WILD_NUMBERS)
            if low < value < high:
                return value
        low = low if low != -math.inf else min(high, 0.0) - 100.0
        high = high if high != math.inf else max(low, 0.0) + 100.0
        for _ in range(50):
            value = self._random.uniform(low, high)
            if value not in (schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")):
                return value
        raise UnsupportedOperationError(f"no number fits the bounds of {dict(schema)}")

    def _anything(self, depth: int) -> Any:
        kinds = ["string", "integer", "number", "boolean", "null"]
        if self._wild and depth < _DEEP:
            kinds += ["array", "object"]
        return self._makers[self._random.choice(kinds)]({}, depth + 2)


def _implied_type(schema: Mapping[str, Any]) -> str | None:
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    if "pattern" in schema or "minLength" in schema or "maxLength" in schema:
        return "string"
    return "number" if "minimum" in schema or "maximum" in schema else None


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both schemas at once: what either requires; otherwise the second counts."""
    both = {**one, **other}
    if "properties" in one and "properties" in other:
        both["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        both["required"] = [*one["required"], *other["required"]]
    return both


def _weight(schema: Mapping[str, Any]) -> int:
    return {"object": 2, "array": 1}.get(str(schema.get("type", "object")), 0)


def _bounds(schema: Mapping[str, Any]) -> tuple[float, float]:
    """The smallest and the largest number, the exclusive bounds taken as if they were not."""
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
    return low, min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))


def _png(shade: int) -> bytes:
    """A picture of one grey pixel."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes((0, shade)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
