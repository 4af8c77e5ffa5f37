"""The table of settings in the README: ``python -m tests.support.readme_settings`` writes it anew."""

import sys

from openenv_core.settings import markdown_table
from tests.support.source import REPOSITORY

__all__ = ["BEGIN", "END", "README", "stated_table"]

README = REPOSITORY / "README.md"
BEGIN, END = "<!-- settings: begin -->\n", "<!-- settings: end -->"


def stated_table() -> str:
    """What the README says between the two marks."""
    return README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()


def main() -> None:
    """Put the table between the marks."""
    before, begin, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{README} has no line {BEGIN.strip()} and {END}")
    README.write_text(f"{before}{begin}\n{markdown_table()}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
