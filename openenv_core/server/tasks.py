"""The task routes of the public protocol: which splits and tasks an environment offers."""

from typing import Any, Literal

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_jsonable_python

from openenv_core.errors import UnsupportedOperationError
from openenv_core.server.gateway import Gateway

__all__ = ["TaskDoor"]

_SPLIT_TYPES = frozenset({"train", "validation", "test"})


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    split: str


class TaskRequest(_Body):
    """One task of a split."""

    index: int


class TaskRangeRequest(_Body):
    """Tasks ``start`` (default 0) up to but not including ``stop`` (default: the last) of a split."""

    start: int | None = None
    stop: int | None = None


class SplitRequest(_Body):
    """A split by name."""


class Split(BaseModel):
    """A split and what it is for."""

    name: str
    type: Literal["train", "validation", "test"]


class TaskDoor:
    """The task routes of one server."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.router = APIRouter(tags=["Tasks"])
        add = self.router.add_api_route
        add("/list_environments", self.list_environments, methods=["GET"])
        add("/{env_name}/splits", self.splits, methods=["GET"])
        add("/{env_name}/tasks", self.tasks, methods=["POST"])
        add("/{env_name}/num_tasks", self.num_tasks, methods=["POST"])
        add("/{env_name}/task", self.task, methods=["POST"])
        add("/{env_name}/task_range", self.task_range, methods=["POST"])

    async def list_environments(self) -> list[str]:
        """The one environment of this server."""
        return [self._gateway.env_name]

    async def splits(self, env_name: str) -> list[Any]:
        """The splits that the environment offers."""
        return [_split(item) for item in await self._ask(env_name, "list_splits")]

    async def tasks(self, env_name: str, body: SplitRequest) -> dict[str, Any]:
        """All tasks of a split."""
        return {"tasks": list(await self._ask(env_name, "list_tasks", body.split)), "env_name": self._gateway.env_name}

    async def num_tasks(self, env_name: str, body: SplitRequest) -> dict[str, int]:
        """The number of tasks of a split."""
        return {"num_tasks": int(await self._ask(env_name, "num_tasks", body.split))}

    async def task(self, env_name: str, body: TaskRequest) -> dict[str, Any]:
        """One task."""
        return {"task": await self._ask(env_name, "get_task", body.split, body.index)}

    async def task_range(self, env_name: str, body: TaskRangeRequest) -> dict[str, Any]:
        """A range of tasks."""
        return {"tasks": list(await self._ask(env_name, "get_task_range", body.split, body.start, body.stop))}

    async def _ask(self, env_name: str, method: str, *arguments: Any) -> Any:
        if env_name.lower() != self._gateway.env_name.lower():
            raise HTTPException(404, f"unknown environment '{env_name}'")
        try:
            found = await self._gateway.manager.catalog(method, *arguments)
        except IndexError:
            raise HTTPException(400, "Invalid task index") from None
        except (UnsupportedOperationError, NotImplementedError):
            raise HTTPException(501, f"{method} is not supported for this environment") from None
        return to_jsonable_python(found, fallback=str)


def _split(item: Any) -> Any:
    if isinstance(item, dict):
        return item
    name = str(item)
    kind: Any = name if name in _SPLIT_TYPES else "validation"
    return Split(name=name, type=kind).model_dump()
