"""Puts the MiniWoB pages into the wheel: they are the part of the package ``miniwob`` that the server needs."""

from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import (  # type: ignore[import-not-found,unused-ignore]
    BuildHookInterface,
)

FOLDER = "openenv_miniwob_pages"
"""Beside the package, not inside it: an editable install has the package elsewhere."""


class PagesHook(BuildHookInterface):  # type: ignore[misc,type-arg,unused-ignore]
    """Adds the pages, and their licence, to every wheel; to those of editable installs too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is built.

        Raises:
            RuntimeError: ``miniwob`` is not installed where the build runs.
        """
        found = find_spec("miniwob")
        if found is None or not found.submodule_search_locations:
            raise RuntimeError(
                "the build needs the package miniwob, for its pages: build with isolation, or install it"
            )
        pages = Path(next(iter(found.submodule_search_locations))) / "html"
        # The folder `flight` is 4 MB of pages that no task of ours opens.
        included = {str(pages / part): f"{FOLDER}/{part}" for part in ("common", "core", "miniwob")}
        for file in distribution("miniwob").files or ():
            if file.name == "LICENSE":
                included[str(file.locate())] = f"{FOLDER}/LICENSE"
        build_data["force_include"].update(included)
        build_data["force_include_editable"].update(included)
