"""A person at an environment: what is shown, what is asked, and what becomes of an answer."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from openenv_core.cli._drawing import draw
from openenv_core.client import GenericEnvClient
from openenv_core.errors import ConnectionFailedError, OpenEnvError, SessionLostError
from openenv_core.rendering import (
    Labelled,
    Question,
    Showing,
    questions_of,
    summary_of,
    visible,
)
from openenv_core.types import StepResult

__all__ = ["Game", "Table"]

_COMMANDS: Final = (
    ("?", "this help"),
    ("/state", "what the environment tells of itself"),
    ("/reset", "give this game up and start the next; /reset 7 starts the game of seed 7"),
    ("/json {…}", "send a whole action as JSON"),
    ("/quit", "leave; so do Ctrl-D and Ctrl-C"),
)
_LISTED: Final = 30
"""So many choices are listed at every turn; more are listed by the help."""


class _QuitError(Exception):
    """The player leaves."""


class _ResetError(Exception):
    """The player wants another game."""

    def __init__(self, seed: int | None) -> None:
        self.seed = seed


@dataclass(frozen=True)
class Table:
    """What is played.

    Attributes:
        name: the environment's name.
        description: one line on it.
        place: where its server is.
        action_schema: the JSON schema of its actions.
        showing: how it is shown.
    """

    name: str
    description: str
    place: str
    action_schema: Mapping[str, Any]
    showing: Showing = field(default_factory=Showing)


@dataclass
class Game:
    """One person's play, episode after episode.

    Attributes:
        client: one session.
        table: what is played.
        console: where it is shown.
        seed: of the next episode; the one after it has the next number.
        options: further options of every reset.
    """

    client: GenericEnvClient
    table: Table
    console: Console
    seed: int
    options: Mapping[str, Any]
    _episode: list[Mapping[str, Any]] = field(default_factory=list)
    _facts: dict[str, Any] = field(default_factory=dict)
    _questions: tuple[Question, ...] = ()
    _labelled: Sequence[Labelled] = ()
    _steps: int = 0
    _return: float = 0.0
    _over: bool = True

    def run(self) -> None:
        """Play until the player leaves or the input ends.

        Raises:
            OpenEnvError: the first reset is refused, or a reset finds no server.
        """
        self._welcome()
        try:
            self._reset()
            while True:
                try:
                    self._turn() if not self._over else self._next_game()
                except _ResetError as wish:
                    self.seed = self.seed if wish.seed is None else wish.seed
                    self._reset()
        except (_QuitError, EOFError):
            self.console.print("\nGoodbye.")

    def _welcome(self) -> None:
        lines = Text()
        if self.table.description:
            lines.append(f"{visible(self.table.description)}\n")
        lines.append(f"Server: {self.table.place}\n", "dim")
        lines.append("Type your move at the prompt. ")
        lines.append("?", "bold")
        lines.append(" helps, ")
        lines.append("/quit", "bold")
        lines.append(" leaves.")
        self.console.print(Panel(lines, title=Text(visible(self.table.name), "bold"), title_align="left", expand=False))

    def _reset(self) -> None:
        seed = self.seed
        result = self.client.reset(seed=seed, **self.options)
        self.seed += 1
        self._episode, self._steps, self._return, self._over = [], 0, 0.0, False
        try:
            self._facts = dict(self.client.state())
        except (SessionLostError, ConnectionFailedError):
            raise
        except OpenEnvError:
            self._facts = {}  # an environment without a state can be played all the same
        game = self._facts.get("game_name") or self._facts.get("env_id") or self._facts.get("gymnasium_id")
        named = f"{visible(str(game))}, seed {seed}" if game else f"Seed {seed}"
        self.console.rule(Text(named, "bold"), align="left", characters="─")
        self._take(result)

    def _take(self, result: StepResult[dict[str, Any]]) -> None:
        """Show what came back, and prepare the next question."""
        self._episode.append(result.observation)
        self._return += float(result.reward or 0.0)
        self._over = result.done
        parts = self.table.showing.parts(self._episode, self._facts)
        self._labelled = self.table.showing.labelled(result.observation) or ()
        self.console.print(draw(parts, self.console), soft_wrap=False)
        if self._steps:
            reward = "none" if result.reward is None else f"{result.reward:g}"
            self.console.print(f"[dim]Move {self._steps}: reward {reward}, return {self._return:g}.[/dim]")
        self._questions = questions_of(self.table.action_schema, result.observation, self._facts)
        if self._over:
            self._tell_end(result)

    def _tell_end(self, result: StepResult[dict[str, Any]]) -> None:
        success = result.observation.get("success")
        if result.truncated:
            why = "A limit cut the game short."
        else:
            why = {True: "Solved!", False: "Not solved.", None: "The game is over."}[success]
        moves = f"{self._steps} move{'' if self._steps == 1 else 's'}"
        style = "bold green" if success else "bold"
        self.console.print(f"[{style}]{why}[/] {moves}, return {self._return:g}.\n")

    def _next_game(self) -> None:
        answer = self._ask(f"Play again, with seed {self.seed}? [Y/n] ").strip().lower()
        if answer in ("", "y", "yes"):
            raise _ResetError(None)
        if answer in ("n", "no", "q", "quit"):
            raise _QuitError
        self._command(answer)
        if answer not in ("?", "/state"):
            self._complain("Type y for another game or n to leave.")

    def _turn(self) -> None:
        try:
            action = self._ask_action()
            result = self.client.step(action)
        except SessionLostError as error:
            self._complain(f"This game is lost: {error.message}")
            self._over = True
        except OpenEnvError as error:
            self._complain(f"{error.message}\nNothing is lost: try again, or ? for help.")
        else:
            self._steps += 1
            self._take(result)

    def _ask_action(self) -> dict[str, Any]:
        """One action, by one question after the other, or as JSON."""
        self._list_labelled()
        if not self._questions:
            return self._ask_whole()
        action: dict[str, Any] = {}
        for question in self._questions:
            if question.kind == "choice" and len(question.choices) <= _LISTED:
                self.console.print(self._choices(question))
            while question.field not in action:
                line = self._ask(f"{visible(question.field)}> ")
                is_text = question.kind == "text"
                whole = self._whole(line, is_text)
                if whole is None and not action:
                    whole = self._picked(line.strip())
                if whole is not None:
                    return whole
                if self._command(line.strip(), bare=not is_text) or self._is_draft(line.strip()):
                    continue
                try:
                    action[question.field] = question.read(line[1:] if line.startswith("//") else line)
                except ValueError as error:
                    self._complain(f"{str(error)[0].upper()}{str(error)[1:]}. Nothing was played.")
        return action

    def _list_labelled(self) -> None:
        for number, one in enumerate(self._labelled[:_LISTED], start=1):
            self.console.print(Text.assemble((f"  {number:2}", "bold"), f" {one.label}"))

    def _chosen(self, line: str) -> Labelled | None:
        """The action whose number was typed."""
        is_number = line.isdecimal() and 0 < int(line) <= min(_LISTED, len(self._labelled))
        return self._labelled[int(line) - 1] if is_number else None

    def _picked(self, line: str) -> dict[str, Any] | None:
        chosen = self._chosen(line)
        return None if chosen is None or chosen.draft else dict(chosen.action)

    def _is_draft(self, line: str) -> bool:
        """Tell what is to be completed, where the number of such an action was typed."""
        chosen = self._chosen(line)
        if chosen is None:
            return False
        self._complain(f"Complete this: {', '.join(map(str, chosen.action.values()))}")
        return True

    def _ask_whole(self) -> dict[str, Any]:
        while True:
            line = self._ask("action as JSON> ")
            if (picked := self._picked(line.strip())) is not None:
                return picked
            if self._command(line.strip(), bare=True):
                continue
            whole = self._whole(f"/json {line}" if not line.startswith("/json") else line, True)
            if whole is not None:
                return whole

    def _whole(self, line: str, is_text: bool) -> dict[str, Any] | None:
        """A whole action, where one was typed."""
        text = line.strip()
        if text.startswith("/json"):
            text = text.removeprefix("/json").strip()
        elif is_text or not text.startswith("{"):
            return None
        try:
            action = json.loads(text)
        except ValueError as error:
            self._complain(f"This is not JSON: {error}. An action looks like {self._example()}")
            return None
        if isinstance(action, dict):
            return action
        self._complain(f"An action is a JSON object, like {self._example()}")
        return None

    def _example(self) -> str:
        return json.dumps(
            {question.field: "…" for question in self._questions} or {"field": "value"}, ensure_ascii=False
        )

    def _command(self, line: str, *, bare: bool = False) -> bool:
        """Do what a command says; whether the line was one.

        Args:
            line: what was typed, stripped.
            bare: whether a command counts without its slash: where no text is asked for.
        """
        words = line.split()
        if not words or line.startswith("//"):
            return False
        name = words[0].lower()
        if name in ("?", "/?", "/help") or (bare and name == "help"):
            self._help()
        elif name == "/json":
            return True  # it was complained of
        elif name in ("/quit", "/exit") or (bare and name in ("quit", "exit", "q")):
            raise _QuitError
        elif name == "/reset" or (bare and name == "reset"):
            self._wish(words[1:])
        elif name == "/state" or (bare and name == "state"):
            self._tell_state()
        elif name.startswith("/"):
            known = ", ".join(command.split()[0] for command, _ in _COMMANDS)
            self._complain(
                f"{visible(words[0])!r} is no command; the commands are {known}. To send a text that begins with /, "
                "type it twice: //"
            )
        else:
            return False
        return True

    def _wish(self, words: list[str]) -> None:
        if words and not words[0].isdecimal():
            self._complain(f"A seed is a whole number of 0 or more, not {visible(words[0])!r}. The game goes on.")
            return
        raise _ResetError(int(words[0]) if words else None)

    def _tell_state(self) -> None:
        try:
            state = self.client.state()
        except OpenEnvError as error:
            self._complain(error.message)
            return
        for name, value in state.items():
            self.console.print(Text(f"  {visible(name)}: {visible(json.dumps(value, ensure_ascii=False))}"))

    def _help(self) -> None:
        about = summary_of(self.table.action_schema)
        if about:
            self.console.print(Text(visible(about)))
        for question in self._questions:
            meaning = visible(question.meaning) if question.meaning else question.hint
            self.console.print(Text.assemble((f"  {visible(question.field)}", "bold"), f": {meaning}"))
            if question.kind == "choice":
                self.console.print(self._choices(question))
        for command, meaning in _COMMANDS:
            self.console.print(Text.assemble((f"  {command:10}", "bold"), f" {meaning}"))

    def _choices(self, question: Question) -> Text:
        line = Text(" ")
        for choice in question.choices:
            # Spaces that do not break: a value stays on the line of its name.
            name = f" {visible(choice.name)}".replace(" ", "\N{NO-BREAK SPACE}") if choice.name else ""
            line.append_tokens([(" ", None), (visible(str(choice.value)), "bold"), (name, None), (" ", None)])
        line.rstrip()
        return line

    def _complain(self, message: str) -> None:
        self.console.print(Text(visible(message), "yellow"))

    def _ask(self, prompt: str) -> str:
        line = input(prompt)
        if not sys.stdin.isatty():
            print(line)  # what a person has typed stands in the terminal already
        return line
