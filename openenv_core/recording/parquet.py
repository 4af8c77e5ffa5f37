"""Recorded episodes as a data set in Parquet files, a row for each answered call; needs the extra ``export``."""

import importlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from openenv_core.errors import ConfigurationError
from openenv_core.extras import needs_extra
from openenv_core.recording.lines import ErrorLine, ResetLine, StateLine, StepLine
from openenv_core.recording.reader import Recording, pictures_in
from openenv_core.recording.texts import observation_text

__all__ = ["write_parquet"]

_ROWS_AT_A_TIME: Final = 500
_FILE: Final = "train-00000-of-00001.parquet"

_COLUMNS: Final = {
    "episode": "string",
    "environment": "string",
    "version": "string",
    "session": "string",
    "episode_id": "string",
    "seed": "int64",
    "options": "string",
    "episode_reward": "float64",
    "episode_steps": "int64",
    "episode_success": "bool",
    "episode_end": "string",
    "frame": "int64",
    "kind": "string",
    "step": "int64",
    "at": "float64",
    "seconds": "float64",
    "action": "string",
    "observation": "string",
    "text": "string",
    "state": "string",
    "error": "string",
    "reward": "float64",
    "done": "bool",
    "truncated": "bool",
    "success": "bool",
}
"""Columns and their types, in the words of both pyarrow and ``datasets``. What has a shape of its own in every
environment (options, action, observation, state) is JSON text: a column has one shape for all rows."""


def write_parquet(recordings: Iterable[Recording], out: Path, *, text_field: str | None = None) -> int:
    """Write a folder that ``datasets.load_dataset`` reads, pictures and all; returns the number of rows.

    Args:
        out: the folder; a file of an earlier export in it is replaced.
        text_field: as for :func:`~openenv_core.recording.conversations.conversation_of`.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigurationError(needs_extra("a data set in Parquet files needs", "export")) from error
    schema = _schema(arrow)
    folder = out / "data"
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with parquet.ParquetWriter(folder / _FILE, schema) as file:
        for rows in _batches(row for recording in recordings for row in _rows(recording, text_field)):
            file.write_table(arrow.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _schema(arrow: Any) -> Any:
    kinds = {"string": arrow.string(), "int64": arrow.int64(), "float64": arrow.float64(), "bool": arrow.bool_()}
    picture = arrow.struct([("bytes", arrow.binary()), ("path", arrow.string())])
    fields = [*((name, kinds[kind]) for name, kind in _COLUMNS.items()), ("pictures", arrow.list_(picture))]
    features: dict[str, Any] = {name: {"dtype": kind, "_type": "Value"} for name, kind in _COLUMNS.items()}
    features["pictures"] = {"feature": {"_type": "Image"}, "_type": "List"}
    # Where `datasets` looks for what the columns mean; other readers pass over it.
    return arrow.schema(fields, metadata={"huggingface": json.dumps({"info": {"features": features}})})


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS_AT_A_TIME:
            yield batch
            batch = []
    if batch:
        yield batch


def _rows(recording: Recording, text_field: str | None) -> Iterator[dict[str, Any]]:
    episode = recording.episode
    about = {
        "episode": recording.name,
        "environment": episode.environment,
        "version": episode.version,
        "session": episode.session,
        "episode_id": episode.episode_id,
        "seed": episode.seed,
        "options": _text(episode.options),
        "episode_reward": recording.reward,
        "episode_steps": recording.steps,
        "episode_success": recording.success,
        "episode_end": recording.end.reason if recording.end is not None else None,
    }
    for frame in recording.frames:
        line = frame.line
        row: dict[str, Any] = {**about, "frame": frame.index, "kind": line.type, "step": frame.step, "pictures": []}
        row |= {"at": line.at, "seconds": line.seconds}
        if isinstance(line, ErrorLine):
            row |= {"action": _text(line.data), "error": f"{line.code}: {line.message}"}
        elif isinstance(line, StateLine):
            row["state"] = _text(line.state)
        else:
            row |= _observed(recording, line, text_field, frame.observation or {})
        yield row


def _observed(
    recording: Recording, line: ResetLine | StepLine, text_field: str | None, observation: dict[str, Any]
) -> dict[str, Any]:
    return {
        "action": _text(line.action) if isinstance(line, StepLine) else None,
        "observation": _text(line.observation),
        "text": observation_text(observation, text_field),
        "reward": None if line.reward is None else float(line.reward),
        "done": line.done,
        "truncated": line.truncated,
        "success": line.success,
        "pictures": [
            {"bytes": file.read_bytes(), "path": file.name} for file in pictures_in(recording.path, line.observation)
        ],
    }


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
