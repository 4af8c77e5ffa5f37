"""``/web/api/recordings``: episodes that were recorded, for the people who run a server."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import FileResponse
from pydantic_core import to_json

from openenv_core.errors import ConfigurationError
from openenv_core.recording import Frame, Recorder, Summary, read_recording, read_summary
from openenv_core.recording.lines import ErrorLine, StateLine
from openenv_core.recording.reader import picture_file, with_inline_pictures
from openenv_core.recording.selection import Wanted
from openenv_core.recording.shelf import NAME, recordings_in
from openenv_core.server.doorkeeper import Doorkeeper
from openenv_core.server.gateway import Gateway
from openenv_core.server.sessions_http import operator_only
from openenv_core.server.watch.door import NotHereError
from openenv_core.server.watch.frames import History

__all__ = ["ReplayDoor"]


class ReplayDoor:
    """The routes of recorded episodes. All files are read in threads."""

    def __init__(self, gateway: Gateway, doorkeeper: Doorkeeper, recorder: Recorder | None) -> None:
        self._gateway = gateway
        self._folder = None if recorder is None else recorder.folder
        self._summaries: dict[str, tuple[int, Summary]] = {}
        self.router = APIRouter(
            prefix="/web/api",
            tags=["Watch"],
            include_in_schema=False,
            dependencies=[Depends(operator_only(doorkeeper))],
        )
        add = self.router.add_api_route
        add("/recordings", self.list_recordings, methods=["GET"])
        add("/recordings/{name}", self.read, methods=["GET"])
        add("/recordings/{name}/pictures/{picture}", self.picture, methods=["GET"])

    async def list_recordings(
        self,
        environment: str | None = None,
        min_reward: float | None = None,
        max_reward: float | None = None,
        success: bool | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        """The recorded episodes that fit, the newest first."""
        wanted = Wanted(environment, min_reward, max_reward, success)
        found = await asyncio.to_thread(lambda: [row for row in self._all() if wanted.takes(row)])
        body = {
            "folder": None if self._folder is None else str(self._folder),
            "total": len(found),
            "episodes": [_row(summary) for summary in found[offset : offset + limit]],
        }
        return Response(to_json(body, inf_nan_mode="strings"), media_type="application/json")

    async def read(
        self,
        name: str,
        first: Annotated[int, Query(ge=0)] = 0,
        count: Annotated[int, Query(ge=1, le=1000)] = 200,
        view: bool = False,
    ) -> Response:
        """One episode: its row, and frames of it."""
        path = self._path(name)
        body = await asyncio.to_thread(self._episode, path, first, count, view)
        return Response(body, media_type="application/json")

    async def picture(self, name: str, picture: str) -> Response:
        """A picture of an episode."""
        file = picture_file(self._path(name), {"$picture": picture})
        if file is None:
            raise NotHereError("that episode has no such picture")
        return FileResponse(
            file, media_type="image/png", headers={"Cache-Control": "private, max-age=86400, immutable"}
        )

    def _episode(self, path: Path, first: int, count: int, view: bool) -> bytes:
        recording = read_recording(path)
        summary = recording.summary()
        is_ours = summary.environment == self._gateway.env_name  # the folder may have episodes of others
        history = History(self._gateway.showing if is_ours else None) if view else None
        frames = [_frame(path, frame, history) for frame in recording.frames[: first + count]][first:]
        body = {"episode": _row(summary), "frames": frames, "total": len(recording.frames)}
        return to_json(body, inf_nan_mode="strings")

    def _path(self, name: str) -> Path:
        path = None if self._folder is None or not NAME.fullmatch(name) else self._folder / f"{name}.jsonl"
        if path is None or not path.is_file():
            raise NotHereError("no episode of that name is recorded here; it may have been removed to make room")
        return path

    def _all(self) -> list[Summary]:
        if self._folder is None or not self._folder.is_dir():
            return []
        kept: dict[str, tuple[int, Summary]] = {}
        for path in reversed(recordings_in(self._folder)):
            try:
                size = path.stat().st_size
                known = self._summaries.get(path.stem)
                kept[path.stem] = known if known is not None and known[0] == size else (size, read_summary(path))
            except (OSError, ConfigurationError):
                continue  # it went to make room, or has only begun
        self._summaries = kept
        return [summary for _, summary in kept.values()]


def _row(summary: Summary) -> dict[str, Any]:
    row = dataclasses.asdict(summary)
    row["frames_dropped"] = row.pop("lost")
    return row


def _frame(path: Path, frame: Frame, history: History | None) -> dict[str, Any]:
    line = frame.line
    values = line.model_dump(exclude={"type", "at", "data", "code", "message"})
    values |= {"index": frame.index, "kind": line.type, "at_s": line.at, "step": frame.step, "dropped": frame.lost}
    values["total_reward"] = frame.total_reward
    if isinstance(line, ErrorLine):
        values["error"] = {"code": line.code, "message": line.message}
        values["options" if line.call == "reset" else "action"] = line.data
    elif history is not None:
        shown = line.state if isinstance(line, StateLine) else with_inline_pictures(path, frame.observation)
        view = history.view(line.type, None, shown)
        if view is not None:
            values["view"] = view
    return values
