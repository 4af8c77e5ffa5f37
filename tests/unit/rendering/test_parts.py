"""What a view is made of."""

import dataclasses

import pytest

from openenv_core.rendering import Cell, Grid, Text


def test_views_compare_by_what_they_show_and_cannot_be_changed() -> None:
    assert Grid(((Cell("x", "own"),),)) == Grid(((Cell("x", "own"),),)) != Grid(((Cell("x", "other"),),))
    assert {Text("a"), Text("a"), Text("a", "notice")} == {Text("a"), Text("a", "notice")}
    with pytest.raises(dataclasses.FrozenInstanceError):
        Cell("x").text = "y"  # type: ignore[misc]
