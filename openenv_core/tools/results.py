"""What a tool returned, in the forms in which it travels: for a model, for a program, as itself."""

import base64
from typing import Any

from pydantic_core import from_json, to_json

from openenv_core.tools.actions import ToolResult
from openenv_core.types import Image

__all__ = ["text_block", "tool_result"]

_WRAPPED = {"fastmcp": {"wrap_result": True}}
"""The mark of the public package: ``structured_content`` holds the value below ``result``."""


def tool_result(value: Any) -> ToolResult:
    """The result that a returned value stands for.

    A picture, or a list with pictures in it, is for the model alone: it has no structured form.

    Raises:
        ValueError: the value has no JSON form.
    """
    if value is None:
        return ToolResult()
    items = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(item, Image) for item in items):
        return ToolResult(content=[_block(item) for item in items])
    data = from_json(_json(value))
    content = [_block(value)]
    if isinstance(data, dict):
        return ToolResult(content=content, structured_content=data, data=data)
    return ToolResult(content=content, structured_content={"result": data}, meta=_WRAPPED, data=data)


def text_block(text: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": text, "annotations": None, "meta": None}


def _block(value: Any) -> dict[str, Any]:
    if isinstance(value, Image):
        picture = base64.b64encode(value.png).decode("ascii")
        return {"type": "image", "data": picture, "mimeType": Image.media_type, "annotations": None, "meta": None}
    return text_block(value if isinstance(value, str) else _json(value).decode())


def _json(value: Any) -> bytes:
    try:
        return to_json(value, fallback=_plain, inf_nan_mode="strings", serialize_as_any=True)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__qualname__} has no JSON form")
