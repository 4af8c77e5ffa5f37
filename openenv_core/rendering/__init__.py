"""What a person is shown of an environment, and asked: decided here as plain data, drawn by a terminal or a page.

Pure: nothing here knows a terminal, a browser, a client or a server.
"""

from openenv_core.rendering.parts import Cell, Grid, Part, Text, Tone
from openenv_core.rendering.questions import Choice, Question, questions_of, summary_of
from openenv_core.rendering.text import visible
from openenv_core.rendering.views import view_of

__all__ = [
    "Cell",
    "Choice",
    "Grid",
    "Part",
    "Question",
    "Text",
    "Tone",
    "questions_of",
    "summary_of",
    "view_of",
    "visible",
]
