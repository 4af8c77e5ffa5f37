from openenv_core.tools.declare import tool, tools_of
from openenv_core.tools.schemas import openai_tools


class Kit:
    @tool
    def add(self, a: int) -> int:
        """Add.

        Args:
            a: a number
        """
        return a


EXPECTED = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer", "description": "a number"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        },
    }
]


def test_a_class_and_its_tools_are_told_alike() -> None:
    assert openai_tools(Kit) == EXPECTED
    assert openai_tools(tools_of(Kit).values()) == EXPECTED
    assert openai_tools([]) == []
