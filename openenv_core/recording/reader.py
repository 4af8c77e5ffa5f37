"""Reads recorded episodes, also those whose server was killed in the middle of a line."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from openenv_core.errors import ConfigurationError
from openenv_core.recording.lines import (
    LINES,
    PICTURE,
    EndLine,
    EpisodeLine,
    ErrorLine,
    Line,
    LostLine,
    ResetLine,
    StateLine,
    StepLine,
)
from openenv_core.recording.shelf import NAME, recordings_in

__all__ = [
    "Frame",
    "Recording",
    "Summary",
    "find_recordings",
    "picture_file",
    "pictures_in",
    "read_recording",
    "read_summary",
    "with_inline_pictures",
]

_TAIL: Final = 4096
"""The last line of an episode that ended is shorter than this."""

Answer = ResetLine | StepLine | StateLine | ErrorLine


@dataclass(frozen=True)
class Summary:
    """One recorded episode in a row of a list.

    Attributes:
        name: the file's name without its ending.
        environment, version, session, episode_id, seed, options, started: as its first line has them.
        seconds: how long it lasted; ``None`` where that is not known.
        steps, reward, success: of the episode, as far as it is recorded.
        end: how it ended (:class:`~openenv_core.recording.lines.EndLine`); ``None`` where it still runs, or its server
            was killed.
        lost: lines that could not be written, where the file was read whole to know it; otherwise 0.
        damaged: a line of the file cannot be read, which is so for the last one after a crash.
        bytes: size of the file, without its pictures.
        pictures: number of its pictures.
    """

    name: str
    environment: str
    version: str | None
    session: str
    episode_id: str | None
    seed: int | None
    options: dict[str, Any]
    started: str
    seconds: float | None
    steps: int
    reward: float
    success: bool | None
    end: str | None
    lost: int
    damaged: bool
    bytes: int
    pictures: int


@dataclass(frozen=True)
class Frame:
    """One answered call of an episode.

    Attributes:
        line: what was recorded.
        index: its place among the frames, from 0.
        step: steps so far, this one included.
        total_reward: rewards so far, this one's included.
        lost: lines that are missing just before it.
    """

    line: Answer
    index: int
    step: int
    total_reward: float
    lost: int = 0

    @property
    def observation(self) -> dict[str, Any] | None:
        """What was observed; ``None`` for a state or an error. What is no object is put into one."""
        if not isinstance(self.line, ResetLine | StepLine):
            return None
        seen = self.line.observation
        return seen if isinstance(seen, dict) else {"observation": seen}


@dataclass(frozen=True)
class Recording:
    """A recorded episode.

    Attributes:
        path: its file.
        episode: what was played.
        frames: the answered calls.
        end: how it ended; ``None`` where it still runs, or its server was killed.
        damaged: numbers of the lines that cannot be read, from 1.
        torn: the last line is incomplete: the server was killed while it wrote, or is writing now.
        lost: lines that could not be written, in all.
    """

    path: Path
    episode: EpisodeLine
    frames: list[Frame]
    end: EndLine | None = None
    damaged: list[int] = field(default_factory=list)
    torn: bool = False
    lost: int = 0

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def steps(self) -> int:
        """Steps of the episode."""
        return self.end.steps if self.end is not None else self.frames[-1].step if self.frames else 0

    @property
    def reward(self) -> float:
        """Sum of the rewards."""
        return self.end.reward if self.end is not None else self.frames[-1].total_reward if self.frames else 0.0

    @property
    def success(self) -> bool | None:
        """Whether the task was solved; ``None`` where that is open or has no meaning."""
        if self.end is not None:
            return self.end.success
        seen = [frame.line.success for frame in self.frames if isinstance(frame.line, ResetLine | StepLine)]
        return seen[-1] if seen else None

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the environment's state: as its client last asked for it, else the options of the reset."""
        states = [frame.line.state for frame in self.frames if isinstance(frame.line, StateLine)]
        known = states[-1] if states and isinstance(states[-1], dict) else {}
        return {**self.episode.options, **known}

    def summary(self) -> Summary:
        """The row of a list."""
        last = self.frames[-1].line.at if self.frames else None
        return Summary(
            **_of_first_line(self.path, self.episode),
            seconds=self.end.seconds if self.end is not None else last,
            steps=self.steps,
            reward=self.reward,
            success=self.success,
            end=self.end.reason if self.end is not None else None,
            lost=self.lost,
            damaged=bool(self.damaged) or self.torn,
        )


def find_recordings(place: Path) -> list[Path]:
    """The episodes at a place: a file itself, or those in a folder and in the folders in it, the oldest first.

    Raises:
        ConfigurationError: nothing is there.
    """
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise ConfigurationError(f"{place} is neither a recorded episode nor a folder of them")
    folders = [place, *sorted(path for path in place.iterdir() if path.is_dir() and not NAME.fullmatch(path.name))]
    found = sorted((path for folder in folders for path in recordings_in(folder)), key=lambda path: path.name)
    if not found:
        raise ConfigurationError(f"no episode is recorded in {place}; openenv serve … --record {place} records some")
    return found


def read_recording(path: Path) -> Recording:
    """Read an episode. A line that cannot be read is left out and told of.

    Raises:
        ConfigurationError: the file cannot be read, or its first line is not that of an episode.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from error
    *whole, rest = text.split(b"\n")
    first = _line(whole[0]) if whole else None
    if not isinstance(first, EpisodeLine):
        raise ConfigurationError(f"{path} is not a recorded episode: its first line is not that of one")
    frames: list[Frame] = []
    damaged: list[int] = []
    end: EndLine | None = None
    lost = lost_in_all = step = 0
    total = 0.0
    for number, raw in enumerate(whole[1:], start=2):
        line = _line(raw)
        if isinstance(line, LostLine):
            lost += line.lines
            lost_in_all += line.lines
        elif isinstance(line, EndLine):
            end = line
        elif line is None or isinstance(line, EpisodeLine):
            damaged.append(number)
        else:
            step += isinstance(line, StepLine)
            total += float(line.reward or 0.0) if isinstance(line, ResetLine | StepLine) else 0.0
            frames.append(Frame(line, len(frames), step, total, lost))
            lost = 0
    return Recording(path, first, frames, end, damaged, bool(rest), lost_in_all)


def read_summary(path: Path) -> Summary:
    """The row of a list. Of an episode that ended, its first and last line are read and nothing else.

    Raises:
        ConfigurationError: as :func:`read_recording`.
    """
    try:
        with path.open("rb") as file:
            first = _line(file.readline())
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            tail = file.read()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from error
    last = _line(tail[:-1].rpartition(b"\n")[2]) if tail.endswith(b"\n") else None
    if not isinstance(first, EpisodeLine) or not isinstance(last, EndLine):
        return read_recording(path).summary()
    return Summary(
        **_of_first_line(path, first),
        seconds=last.seconds,
        steps=last.steps,
        reward=last.reward,
        success=last.success,
        end=last.reason,
        lost=0,
        damaged=False,
    )


def picture_file(recording: Path, value: Any) -> Path | None:
    """The file of a picture, where a value of an observation stands for one and it is there."""
    if not isinstance(value, dict) or set(value) != {PICTURE} or not isinstance(value[PICTURE], str):
        return None
    return _picture(recording, value[PICTURE])


def _picture(recording: Path, name: str) -> Path | None:
    # Any environment may write such an object itself: it must not lead out of the episode's own folder.
    plain = Path(name).name == name and name.endswith(".png")
    file = recording.with_suffix("") / name
    return file if plain and file.is_file() and not file.is_symlink() else None


def pictures_in(recording: Path, value: Any) -> Iterator[Path]:
    """The files of all pictures in a value."""
    found = picture_file(recording, value)
    if found is not None:
        yield found
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from pictures_in(recording, item)


def with_inline_pictures(recording: Path, value: Any) -> Any:
    """The same value with the pictures in it as base64, as a client gets them."""
    file = picture_file(recording, value)
    if file is not None:
        return base64.b64encode(file.read_bytes()).decode("ascii")
    if isinstance(value, dict):
        return {key: with_inline_pictures(recording, item) for key, item in value.items()}
    return [with_inline_pictures(recording, item) for item in value] if isinstance(value, list) else value


def _line(raw: bytes) -> Line | None:
    try:
        return LINES.validate_json(raw)
    except ValidationError:
        return None


def _of_first_line(path: Path, first: EpisodeLine) -> dict[str, Any]:
    pictures = path.with_suffix("")
    return {
        "name": path.stem,
        "environment": first.environment,
        "version": first.version,
        "session": first.session,
        "episode_id": first.episode_id,
        "seed": first.seed,
        "options": first.options,
        "started": first.started,
        "bytes": path.stat().st_size,
        "pictures": sum(1 for _ in pictures.glob("*.png")) if pictures.is_dir() else 0,
    }
