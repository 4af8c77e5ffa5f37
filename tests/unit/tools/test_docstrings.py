from hypothesis import given
from hypothesis import strategies as st

from openenv_core.tools.docstrings import read_docstring


def documented(a: int, b: str, *args: int) -> int:
    """Add things up.

    Slowly, and
    with care.

    Args:
        a: the first number,
            which goes on here
        b (str): the second: with a colon
        *args: the rest

            after an empty line

    Returns:
        the sum: a number

    Raises:
        ValueError: never
    """
    return 0


def test_the_description_ends_where_the_sections_begin() -> None:
    assert read_docstring(documented).description == "Add things up.\n\nSlowly, and\nwith care."


def test_each_parameter_has_its_text_and_no_other_section_has_any() -> None:
    assert read_docstring(documented).parameters == {
        "a": "the first number, which goes on here",
        "b": "the second: with a colon",
        "args": "the rest after an empty line",
    }


def test_nothing_is_said_of_a_function_without_a_docstring() -> None:
    assert read_docstring(lambda: None) == ("", {})


def test_parameters_may_have_another_heading_and_be_the_only_section() -> None:
    def function() -> None:
        """Parameters:
        x: a number
        """

    assert read_docstring(function) == ("", {"x": "a number"})


@given(st.text(max_size=200))
def test_any_docstring_is_read(text: str) -> None:
    def function() -> None: ...

    function.__doc__ = text
    read_docstring(function)
