"""Recorded episodes at a terminal."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from openenv_core.cli._drawing import draw
from openenv_core.cli._tables import print_table
from openenv_core.recording import Frame, Recording, Summary
from openenv_core.recording.comparison import Compared
from openenv_core.recording.lines import ErrorLine, StateLine, StepLine
from openenv_core.recording.reader import with_inline_pictures
from openenv_core.rendering import view_of, visible

__all__ = ["Player", "print_comparison", "print_list"]

_WORDS: Final = {True: "yes", False: "no", None: ""}
_ACTION_WIDTH: Final = 40


def print_list(rows: Sequence[tuple[int, Summary]]) -> None:
    """A table of episodes."""
    title = f"{len(rows)} episode{'s' * (len(rows) != 1)}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "started (UTC)", "environment", "seed", "steps", "reward", "solved", "end"):
        side: Any = "right" if heading in ("", "seed", "steps", "reward") else "left"
        table.add_column(heading, justify=side, no_wrap=heading != "end")
    for number, row in rows:
        table.add_row(
            *(str(number), row.started[5:19].replace("T", " "), visible(row.environment)),
            *("" if row.seed is None else str(row.seed), str(row.steps), f"{row.reward:.4g}", _WORDS[row.success]),
            ", ".join((row.end or "not recorded", *_notes(row))),
        )
    console = Console()
    print_table(table)
    console.print("openenv replay FOLDER --episode NUMBER shows one step by step.", style="dim")


def _notes(row: Summary) -> list[str]:
    notes = [f"{row.pictures} picture{'s' * (row.pictures != 1)}"] if row.pictures else []
    notes += [f"{row.lost} frames lost"] if row.lost else []
    return [*notes, "damaged"] if row.damaged else notes


class Player:
    """Shows an episode as it was played."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._console = Console(highlight=False)
        self._facts = recording.facts

    def run(self) -> None:
        """Show frame after frame: a person at a terminal says when; otherwise all of them."""
        self._console.print(self._head())
        frames = self._recording.frames
        place = 0
        while place < len(frames):
            self._show(frames[place])
            place = self._next(place) if sys.stdin.isatty() and sys.stdout.isatty() else place + 1
        if place == len(frames):
            self._tell_end()

    def _head(self) -> Panel:
        episode = self._recording.episode
        lines = Text(f"{episode.started[:19].replace('T', ' ')} UTC, session {episode.session}")
        if episode.options:
            lines.append(f"\nreset with {_short(episode.options, 200)}")
        if self._recording.torn:
            lines.append("\nThe last line is incomplete: the server was killed, or writes it now.", "yellow")
        if self._recording.damaged:
            numbers = ", ".join(map(str, self._recording.damaged[:10]))
            lines.append(f"\nLines that cannot be read are left out: {numbers}", "yellow")
        title = Text(f"{visible(episode.environment)} {episode.version or ''}".strip(), "bold")
        return Panel(lines, title=title, title_align="left", expand=False)

    def _next(self, place: int) -> int:
        """The place to go on from; beyond the end to leave."""
        try:
            answer = input("Enter: on, b: back, q: leave> ").strip().lower()
        except EOFError:
            answer = "q"
        if answer in ("q", "quit"):
            return len(self._recording.frames) + 1
        return max(0, place - 1) if answer in ("b", "back") else place + 1

    def _show(self, frame: Frame) -> None:
        line = frame.line
        if frame.lost:
            self._console.print(f"{frame.lost} frames were not recorded here.", style="yellow")
        name = f"Step {frame.step}" if isinstance(line, StepLine) else line.type.capitalize()
        self._console.rule(Text(f"{name}, {line.at:.3f} s", "bold"), align="left", characters="─")
        if isinstance(line, StepLine):
            self._console.print(Text(f"action {_short(line.action, 1000)}", "cyan"))
        if isinstance(line, ErrorLine):
            asked = f"{line.call} {_short(line.data, 1000)}"
            self._console.print(Text(f"{asked}\n{line.code}: {visible(line.message)}", "red"))
        elif isinstance(line, StateLine):
            self._console.print(Text(_short(line.state, 1000), "dim"))
        else:
            self._console.print(draw(view_of(self._so_far(frame), self._facts), self._console))
            reward = "none" if line.reward is None else f"{line.reward:g}"
            self._console.print(f"[dim]reward {reward}, return {frame.total_reward:g}[/dim]")

    def _so_far(self, frame: Frame) -> list[Mapping[str, Any]]:
        """The observations up to a frame, as a view needs them: pictures of the last alone are of any use."""
        seen: list[Mapping[str, Any]] = [
            earlier.observation for earlier in self._recording.frames[: frame.index] if earlier.observation is not None
        ]
        return [*seen, with_inline_pictures(self._recording.path, frame.observation)]

    def _tell_end(self) -> None:
        row = self._recording.summary()
        how = {True: "Solved. ", False: "Not solved. ", None: ""}[row.success]
        end = f"It ended: {row.end}." if row.end is not None else "Its end is not recorded."
        self._console.print(Text(f"{how}{row.steps} steps, return {row.reward:g}. {end}", "bold"))


def print_comparison(one: Recording, other: Recording, compared: Compared) -> None:
    """Two episodes side by side; the first difference is marked."""
    console = Console(highlight=False)
    table = Table("", "first", "second", title="Episodes", title_justify="left")
    rows = [(one.summary(), other.summary())]
    for first, second in rows:
        for name in ("name", "environment", "seed", "steps", "reward", "success", "end"):
            both = [getattr(row, name) for row in (first, second)]
            table.add_row(name, *(Text(visible(str(value)), "" if both[0] == both[1] else "yellow") for value in both))
    print_table(table)
    steps = Table("step", "first: action", "reward", "second: action", "reward", "observations")
    for pair in compared.pairs:
        style = "" if pair.same_action else "yellow"
        cells = [
            cell
            for action, reward in zip(pair.actions, pair.rewards, strict=True)
            for cell in (Text(_short(action, _ACTION_WIDTH), style), Text("" if reward is None else f"{reward:g}"))
        ]
        steps.add_row(str(pair.step), *cells, "same" if pair.same_observation else Text("differ", "yellow"))
    print_table(steps)
    console.print(_verdict(compared))


def _verdict(compared: Compared) -> str:
    if compared.first_other_action is None and compared.first_other_observation is None:
        return "Both did and saw the same."
    told = [
        f"{what} differ first in step {step}"
        for what, step in (("actions", compared.first_other_action), ("observations", compared.first_other_observation))
        if step is not None
    ]
    sentence = "; ".join(told) + "."
    return sentence[0].upper() + sentence[1:]


def _short(value: Any, length: int) -> str:
    if isinstance(value, Mapping):
        value = {name: item for name, item in value.items() if name != "metadata" or item}
    text = "" if value is None else visible(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= length else f"{text[: length - 1]}…"
