from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from openenv_core.errors import ConfigurationError
from openenv_core.tools.declare import Tool, tool, tools_of
from openenv_core.types import Image


class Point(BaseModel):
    x: int
    title: str = ""


class Kit:
    @tool
    def add(self, a: int, b: int = 2) -> int:
        """Add two numbers.

        Args:
            a: the first
            b: the second
        """
        return a + b

    @tool
    def bare(self, x):  # type: ignore[no-untyped-def]
        return x

    @tool(name="move", description="Go there.")
    def go(self, point: Point, mode: Annotated[Literal["walk", "run"], Field(description="how")] = "walk") -> Point:
        """Not told."""
        return point

    @tool
    def look(self) -> Image:
        """A picture."""
        raise NotImplementedError

    @tool(timeout_s=5)
    async def wait(self, *, json: str, copy: bool = False) -> dict[str, int]:
        """Names that a model has for something of its own."""
        return {}

    @tool
    def nothing(self) -> None:
        """Nothing comes back."""

    def hidden(self) -> None:
        """No tool."""


KIT = tools_of(Kit)


def test_tools_are_those_that_are_marked_in_their_order() -> None:
    assert list(KIT) == ["add", "bare", "move", "look", "wait", "nothing"]
    assert KIT["move"].method == "go"
    assert KIT["wait"].timeout_s == 5


def test_schema_and_description_come_from_signature_and_docstring() -> None:
    add = KIT["add"]
    assert add.description == "Add two numbers."
    assert add.input_schema == {
        "additionalProperties": False,
        "properties": {
            "a": {"type": "integer", "description": "the first"},
            "b": {"type": "integer", "description": "the second", "default": 2},
        },
        "required": ["a"],
        "type": "object",
    }
    assert add.described.model_dump() == {
        "name": "add",
        "description": "Add two numbers.",
        "input_schema": add.input_schema,
    }


def test_a_tool_without_docstring_and_annotations_is_described_by_empty_texts() -> None:
    assert KIT["bare"].description == ""
    assert KIT["bare"].input_schema["properties"] == {"x": {}}
    assert KIT["bare"].output_schema is None


def test_models_enums_and_field_descriptions() -> None:
    schema = KIT["move"].input_schema
    assert KIT["move"].description == "Go there."
    assert schema["properties"]["mode"] == {
        "default": "walk",
        "description": "how",
        "enum": ["walk", "run"],
        "type": "string",
    }
    # A field that is called title is no title that pydantic made up.
    assert set(schema["$defs"]["Point"]["properties"]) == {"x", "title"}


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("add", {"properties": {"result": {"type": "integer"}}, "required": ["result"], "type": "object"}),
        ("wait", {"additionalProperties": {"type": "integer"}, "type": "object"}),
        ("look", None),
        ("nothing", None),
    ],
)
def test_results_are_objects(name: str, schema: Mapping[str, Any] | None) -> None:
    found = KIT[name].output_schema
    assert (None if found is None else {k: v for k, v in found.items() if not k.startswith("x-")}) == schema
    assert (found or {}).get("x-fastmcp-wrap-result", False) is (name == "add")


def test_arguments_are_typed() -> None:
    keywords = KIT["move"].keywords({"point": {"x": "3"}})
    assert keywords == {"point": Point(x=3)}
    assert KIT["wait"].keywords({"json": "a", "copy": True}) == {"json": "a", "copy": True}


@pytest.mark.parametrize("arguments", [{}, {"a": "x"}, {"a": 1, "z": 2}, {"argument_0": 1}])
def test_wrong_arguments_are_refused_under_their_own_names(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="call\\[add\\]") as refused:
        KIT["add"].keywords(arguments)
    assert {problem["loc"][0] for problem in refused.value.errors()} <= {"a", "z", "argument_0"}


def test_a_subclass_adds_and_replaces() -> None:
    class More(Kit):
        @tool
        def add(self, a: int, b: int = 3) -> int:
            """Another."""
            return a

        @tool
        def new(self) -> None: ...

        bare = None  # type: ignore[assignment]

    found = tools_of(More)
    assert found["add"].description == "Another."
    assert "new" in found
    assert "bare" not in found
    assert tools_of(Kit)["add"].description == "Add two numbers."


def refused(cls: type[Any]) -> str:
    with pytest.raises(ConfigurationError) as error:
        tools_of(cls)
    return error.value.message


def test_reserved_and_doubled_names_are_refused() -> None:
    class Reserved:
        @tool(name="step")
        def go(self) -> None: ...

    class Doubled:
        @tool
        def one(self) -> None: ...

        @tool(name="one")
        def two(self) -> None: ...

    assert "must not be called 'step'" in refused(Reserved)
    assert "two tools are called 'one'" in refused(Doubled)


def test_arguments_without_a_name_and_without_a_schema_are_refused() -> None:
    class Starred:
        @tool
        def go(self, *numbers: int) -> None: ...

    class Odd:
        @tool
        def go(self, when: type(print)) -> None: ...  # type: ignore[valid-type]

    assert "*numbers" in refused(Starred)
    assert "no JSON schema" in refused(Odd)


def test_a_limit_needs_something_that_can_be_interrupted() -> None:
    with pytest.raises(ConfigurationError, match="not async def"):

        class Late:
            @tool(timeout_s=1)
            def go(self) -> None: ...


def test_only_a_function_can_be_marked() -> None:
    with pytest.raises(ConfigurationError, match="belongs on a method"):
        tool(5)  # type: ignore[call-overload]


def test_a_tool_is_read_once() -> None:
    assert tools_of(Kit) is KIT
    assert isinstance(KIT["add"], Tool)
