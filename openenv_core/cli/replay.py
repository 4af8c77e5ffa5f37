"""``openenv replay``: recorded episodes: list, look at, compare, export."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from openenv_core.recording import Recording, Summary
    from openenv_core.recording.selection import Wanted

__all__ = ["replay"]

_Parquet = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Write a folder that datasets.load_dataset reads.")
]
_Conversations = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write conversations with tool calls, as TRL takes.")
]


def replay(
    place: Annotated[Path, typer.Argument(help="A recorded episode (.jsonl), or a folder of them.")],
    episode: Annotated[
        str | None, typer.Option("--episode", "-e", help="Show this one of a folder: its number in the list, or name.")
    ] = None,
    compare: Annotated[
        str | None, typer.Option(help="Compare with this one: a file, or a number or name of the folder.")
    ] = None,
    environment: Annotated[str | None, typer.Option("--env", help="Only episodes of this environment.")] = None,
    min_reward: Annotated[float | None, typer.Option(help="Only episodes that earned as much.")] = None,
    max_reward: Annotated[float | None, typer.Option(help="Only episodes that earned no more.")] = None,
    success: Annotated[
        bool | None, typer.Option("--success/--no-success", help="Only episodes that were solved, or were not.")
    ] = None,
    export_parquet: _Parquet = None,
    export_sft: _Conversations = None,
    prompt: Annotated[str, typer.Option(help="With --export-sft: what each conversation begins with.")] = "",
    text_field: Annotated[
        str | None, typer.Option(help="With an export: the field of observations that is their text. Default: found.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: the list, or the frames of an episode.")] = False,
) -> None:
    """Look at recorded episodes: list those of a folder, show one step by step, compare two, export what is wanted.

    A server records with `openenv serve … --record FOLDER`. A folder is listed, the newest episode last; a file, or one
    chosen by --episode, is shown as it was played: at a terminal Enter goes on, b goes back, q leaves.
    """
    from openenv_core.recording import find_recordings
    from openenv_core.recording.selection import Wanted

    paths = find_recordings(place)
    wanted = Wanted(environment, min_reward, max_reward, success)
    if export_parquet is not None or export_sft is not None:
        _export(_chosen(paths, wanted, episode), export_parquet, export_sft, prompt, text_field)
        return
    if compare is None and episode is None and place.is_dir():
        _list(paths, wanted, as_json)
        return
    one = _one(paths, episode)
    if compare is not None:
        is_file = Path(compare).is_file()
        other = _one(find_recordings(Path(compare)), None) if is_file else _one(paths, compare)
        _compare(one, other, as_json)
    else:
        _show(one, as_json)


def _rows(paths: Sequence[Path], wanted: "Wanted") -> list[tuple[int, "Summary"]]:
    """The episodes that are wanted, each with its number among all."""
    from openenv_core.errors import ConfigurationError
    from openenv_core.recording import read_summary

    rows = []
    for number, path in enumerate(paths, start=1):
        try:
            summary = read_summary(path)
        except ConfigurationError as error:
            typer.secho(f"left out: {error.message}", fg=typer.colors.YELLOW, err=True)
            continue
        if wanted.takes(summary):
            rows.append((number, summary))
    return rows


def _list(paths: Sequence[Path], wanted: "Wanted", as_json: bool) -> None:
    rows = _rows(paths, wanted)
    if as_json:
        print(json.dumps([{"number": number, **dataclasses.asdict(row)} for number, row in rows]))
        return
    if not rows:
        print(f"None of the {len(paths)} episodes fits.")
        return
    from openenv_core.cli._replaying import print_list

    print_list(rows)


def _one(paths: Sequence[Path], episode: str | None) -> "Recording":
    from openenv_core.errors import ConfigurationError
    from openenv_core.recording import read_recording

    if episode is None:
        if len(paths) == 1:
            return read_recording(paths[0])
        raise ConfigurationError("there are several episodes: choose one by --episode")
    if episode.isdecimal() and 1 <= int(episode) <= len(paths):
        return read_recording(paths[int(episode) - 1])
    found = [path for path in paths if episode in path.stem] if not episode.isdecimal() else []
    if len(found) == 1:
        return read_recording(found[0])
    raise ConfigurationError(
        f"{len(found)} episodes are called {episode!r}; choose one by its number, from 1 to {len(paths)}, or its name"
    )


def _chosen(paths: Sequence[Path], wanted: "Wanted", episode: str | None) -> list[Path]:
    if episode is not None:
        return [_one(paths, episode).path]
    by_name = {path.stem: path for path in paths}
    return [by_name[row.name] for _, row in _rows(paths, wanted)]


def _export(
    paths: Sequence[Path], parquet: Path | None, conversations: Path | None, prompt: str, text_field: str | None
) -> None:
    from rich.progress import track

    from openenv_core.recording import read_recording
    from openenv_core.recording.conversations import write_conversations
    from openenv_core.recording.parquet import write_parquet

    def read(what: str) -> Any:
        return (read_recording(path) for path in track(paths, what, transient=True, disable=not sys.stdout.isatty()))

    if parquet is not None:
        count = write_parquet(read("Parquet"), parquet, text_field=text_field)
        print(f'{count} rows of {len(paths)} episodes in {parquet}: datasets.load_dataset("{parquet}")')
    if conversations is not None:
        count = write_conversations(read("conversations"), conversations, prompt=prompt, text_field=text_field)
        print(f"{count} conversation{'s' * (count != 1)} in {conversations}")


def _show(recording: "Recording", as_json: bool) -> None:
    if as_json:
        frames = [
            {**frame.line.model_dump(mode="json"), "step": frame.step, "total_reward": frame.total_reward}
            for frame in recording.frames
        ]
        print(json.dumps({"episode": dataclasses.asdict(recording.summary()), "frames": frames}))
        return
    from openenv_core.cli._replaying import Player

    Player(recording).run()


def _compare(one: "Recording", other: "Recording", as_json: bool) -> None:
    from openenv_core.recording.comparison import compare

    compared = compare(one, other)
    if as_json:
        print(json.dumps(dataclasses.asdict(compared)))
        return
    from openenv_core.cli._replaying import print_comparison

    print_comparison(one, other, compared)
