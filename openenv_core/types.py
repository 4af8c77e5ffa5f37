"""What travels between an agent and an environment: actions, observations, states, step results, pictures.

Every model here serializes to JSON and back without loss: numpy values become numbers and lists, bytes become text
(see :class:`WireModel`), infinities and NaN in a float field become ``"Infinity"``, ``"-Infinity"`` and ``"NaN"``.
"""

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

__all__ = [
    "NESTED_PICTURES",
    "Action",
    "EnvironmentMetadata",
    "Image",
    "Observation",
    "PictureFiles",
    "State",
    "StepResult",
    "WireModel",
    "encode_bytes",
]

NESTED_PICTURES: Final = "v1"
"""Serialization context in which pictures are nested lists, as a client of protocol version 1 expects them."""

_DATA_URI = "data:;base64,"


def encode_bytes(value: bytes) -> str:
    """Bytes as JSON text: UTF-8 as it stands, anything else as a ``data:;base64,`` URI (RFC 2397)."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return _DATA_URI + base64.b64encode(value).decode("ascii")
    return _DATA_URI + base64.b64encode(value).decode("ascii") if text.startswith(_DATA_URI) else text


def _decode_bytes(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_DATA_URI):
        try:
            return base64.b64decode(value[len(_DATA_URI) :], validate=True)
        except binascii.Error as error:
            raise ValueError("not a valid base64 data URI") from error
    return value


def _lossless_bytes(schema: Any) -> Any:
    """The same core schema, in which every plain bytes node reads and writes the text of :func:`encode_bytes`."""
    if isinstance(schema, dict):
        if schema.get("type") == "bytes" and "serialization" not in schema:
            return core_schema.no_info_before_validator_function(
                _decode_bytes,
                cast("CoreSchema", schema),
                serialization=core_schema.plain_serializer_function_ser_schema(
                    encode_bytes, return_schema=core_schema.str_schema(), when_used="json"
                ),
            )
        return {key: value if key == "metadata" else _lossless_bytes(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_lossless_bytes(item) for item in schema]
    if isinstance(schema, tuple):
        return tuple(_lossless_bytes(item) for item in schema)
    return schema


class WireModel(BaseModel):
    """A model that crosses the wire. Unknown fields are refused by name; an assignment is validated.

    A ``bytes`` field travels as its text where it is valid UTF-8, and as a ``data:;base64,…`` string where it is not.
    A model inside another one needs this base, too, for its ``bytes`` to come back as they were.
    """

    model_config = ConfigDict(
        extra="forbid",
        validate_assignment=True,
        arbitrary_types_allowed=True,
        ser_json_inf_nan="strings",
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return cast("CoreSchema", _lossless_bytes(handler(source)))


class Action(WireModel):
    """What an agent does. Subclass it and add fields.

    Attributes:
        metadata: free room for the caller; environments must not need it.
    """

    metadata: dict[str, Any] = Field(default_factory=dict)


class Observation(WireModel):
    """What an agent sees. Subclass it and add fields.

    Attributes:
        done: the episode is over: ended by the task, or cut by a limit.
        truncated: the episode was cut by a limit outside the task; implies ``done``.
        reward: what the last action earned: a finite number, or ``None`` where there is none (after ``reset``, say).
        success: whether the task was solved, apart from the reward; ``None`` while that is open or has no meaning.
        metadata: diagnostics that a policy must not need. Never the answer.
    """

    done: bool = False
    reward: bool | int | float | None = None
    truncated: bool = False
    success: bool | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class State(WireModel):
    """What an agent or an operator may know about a session. Never the answer. Extra fields are allowed.

    Attributes:
        episode_id: name of the running episode, ``None`` before the first.
        step_count: steps since the last reset.
    """

    model_config = ConfigDict(extra="allow")

    episode_id: str | None = None
    step_count: int = Field(default=0, ge=0)


class EnvironmentMetadata(BaseModel):
    """What an environment tells about itself; an environment's ``get_metadata`` may return one."""

    name: str
    description: str
    readme_content: str | None = None
    version: str | None = None
    author: str | None = None
    documentation_url: str | None = None


ObservationT = TypeVar("ObservationT")


@dataclass(slots=True)
class StepResult(Generic[ObservationT]):
    """What ``reset`` and ``step`` return to an agent.

    The numbers here and in ``observation`` always agree: both come from the same reply.

    Attributes:
        observation: what the agent sees.
        reward: what the action earned, or ``None``.
        done: the episode is over; equal to ``terminated or truncated``.
        truncated: a limit outside the task cut the episode.
        metadata: the observation's metadata.
    """

    observation: ObservationT
    reward: float | None = None
    done: bool = False
    truncated: bool = False
    metadata: dict[str, Any] | None = field(default=None)

    @property
    def terminated(self) -> bool:
        """The task itself ended the episode."""
        return self.done and not self.truncated


class PictureFiles:
    """Serialization context in which a picture is named, as ``{"$picture": NAME}``, and kept beside the JSON.

    Args:
        prefix: what the names begin with.

    Attributes:
        files: the PNG files by name, in the order in which they came.
    """

    __slots__ = ("_prefix", "files")

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.files: dict[str, bytes] = {}

    def add(self, png: bytes) -> dict[str, str]:
        """What stands in the picture's place. The same picture has one name, however often it is met."""
        for name, known in self.files.items():
            if known == png:
                return {"$picture": name}
        name = f"{self._prefix}-{len(self.files)}.png"
        self.files[name] = png
        return {"$picture": name}


class Image:
    """A picture, kept and sent as PNG.

    ``numpy.asarray(image)`` is an array of uint8, height x width x 3 (RGB); that and :meth:`to_pil` need the ``images``
    extra. As a field of a model it travels as base64 text; nested lists of numbers, as the public protocol sends
    pictures, are read as well.
    """

    __slots__ = ("png",)
    media_type: ClassVar[str] = "image/png"

    def __init__(self, png: bytes) -> None:
        """Args:
        png: the file's bytes.

        Raises:
            ValueError: these are not the bytes of a PNG file.
        """
        if not png.startswith(b"\x89PNG\r\n\x1a\n"):
            raise ValueError("not a PNG picture")
        self.png = png

    @classmethod
    def from_array(cls, array: Any) -> "Image":
        """From an array (or nested lists) of uint8, height x width x 3 or 4, or height x width for grey."""
        import io

        import numpy
        from PIL import Image as pillow

        buffer = io.BytesIO()
        pillow.fromarray(numpy.asarray(array, dtype=numpy.uint8)).save(buffer, format="PNG")
        return cls(buffer.getvalue())

    def to_pil(self) -> "PillowImage":
        """As a Pillow picture."""
        import io

        from PIL import Image as pillow

        return pillow.open(io.BytesIO(self.png))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, read from the PNG header."""
        return int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        return numpy.array(self.to_pil().convert("RGB"), dtype=dtype or numpy.uint8)

    def tolist(self) -> list[Any]:
        """Height x width x 3 nested lists of 0..255: the form in which version 1 of the protocol sends pictures."""
        return cast("list[Any]", self.__array__().tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and other.png == self.png

    def __hash__(self) -> int:
        return hash(self.png)

    def __repr__(self) -> str:
        width, height = self.size
        return f"Image({width}x{height}, {len(self.png)} bytes)"

    @classmethod
    def _validate(cls, value: Any) -> "Image":
        if isinstance(value, cls):
            return value
        if isinstance(value, bytes):
            return cls(value)
        if isinstance(value, str):
            try:
                return cls(base64.b64decode(value, validate=True))
            except binascii.Error as error:
                raise ValueError("not base64") from error
        return cls.from_array(value)

    def _serialize(self, info: Any) -> Any:
        if isinstance(info.context, PictureFiles):
            return info.context.add(self.png)
        return self.tolist() if info.context == NESTED_PICTURES else base64.b64encode(self.png).decode("ascii")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(
                cls._serialize, info_arg=True, when_used="json"
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "contentEncoding": "base64", "contentMediaType": cls.media_type}
