"""What a person is shown of an environment, and asked: decided here as plain data, drawn by a terminal or a page.

Pure: nothing here knows a terminal, a browser, a client or a server.
"""

from openenv_core.rendering.hooks import NO_HOOKS, Hooks, hooks_of
from openenv_core.rendering.keys import labelled_choices
from openenv_core.rendering.parts import Cell, Grid, Html, Labelled, Mark, Part, Picture, Text, Tone
from openenv_core.rendering.plain import plain_action, plain_parts, plain_questions
from openenv_core.rendering.questions import Choice, Question, questions_of, summary_of
from openenv_core.rendering.showing import Showing
from openenv_core.rendering.text import shortened, visible
from openenv_core.rendering.views import view_of

__all__ = [
    "NO_HOOKS",
    "Cell",
    "Choice",
    "Grid",
    "Hooks",
    "Html",
    "Labelled",
    "Mark",
    "Part",
    "Picture",
    "Question",
    "Showing",
    "Text",
    "Tone",
    "hooks_of",
    "labelled_choices",
    "plain_action",
    "plain_parts",
    "plain_questions",
    "questions_of",
    "shortened",
    "summary_of",
    "view_of",
    "visible",
]
