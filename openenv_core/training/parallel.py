"""Resets and tool calls of different rollouts at the same time, in a trainer that does them one after another.

The trainer's own loop over tool calls is kept, whatever its version does in it: it is run once for each rollout, in a
thread of its own, and its call for the next turn of generation waits until every rollout is there. Then one batch is
generated, in the trainer's own thread and in the order of the rollouts, as the plain loop would have done it. So
tokens, masks and rewards are the same. Only one thread at a time runs the trainer's code (tokenizers must not be used
by two); a thread steps aside while it is inside a tool.
"""

import asyncio
import copy
import functools
import inspect
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from openenv_core.training.pictures import can_be_joined, joined_fields, split_fields
from openenv_core.training.tool_environment import ToolEnvironment

__all__ = ["step_in_parallel"]

_log = logging.getLogger(__name__)

_NEEDED = ("_tool_call_loop", "_generate_single_turn", "_generate_and_score_completions")
_PER_ROLLOUT = ("_sync_tool_dicts", "_async_tool_dicts", "_batch_environments", "environments")
"""What a trainer keeps for each rollout of a batch, beside the arguments of its loop."""

_RESET_THREADS = 32


def step_in_parallel(trainer: Any) -> bool:
    """Let the resets and the tool calls of different rollouts of a trainer run at the same time.

    Args:
        trainer: a ``GRPOTrainer``.

    Returns:
        Whether this trainer has the parts that are needed; if not, it says so in the log and nothing has changed.
    """
    missing = [name for name in _NEEDED if not callable(getattr(trainer, name, None))]
    if missing:
        _log.warning(
            "this version of the trainer has no %s; tool calls run one after another", " and no ".join(missing)
        )
        return False
    loop, generate = trainer._tool_call_loop, trainer._generate_and_score_completions
    if not inspect.ismethod(loop):
        return False  # it is somebody's replacement already: ours, at a second call
    executor = ThreadPoolExecutor(_RESET_THREADS, thread_name_prefix="openenv-reset")

    @functools.wraps(loop)
    def loop_in_parallel(*args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(loop).bind(*args, **kwargs).arguments
        size = len(given["prompts"])
        fields = split_fields(given.get("multimodal_fields") or {}, given.get("images"), size)
        if fields is None or size < 2:
            return loop(*args, **kwargs)
        return _Batch(trainer, loop, given, fields if "multimodal_fields" in given else None).run()

    @functools.wraps(generate)
    def generate_with_resets_ahead(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        _reset_ahead(trainer, inputs, executor)
        return generate(inputs, *args, **kwargs)

    trainer._tool_call_loop = loop_in_parallel
    trainer._generate_and_score_completions = generate_with_resets_ahead
    return True


def _reset_ahead(trainer: Any, inputs: Any, executor: ThreadPoolExecutor) -> None:
    """Begin the resets that the trainer is about to ask for, with the same environments and rows."""
    pools = getattr(trainer, "_environment_pool", None)
    if pools is None or not isinstance(inputs, list):
        return
    is_multi = bool(getattr(trainer, "_multi_environment", False))
    used: dict[Any, int] = {}
    for row in inputs:
        name = row.get("environment") if is_multi else None
        if name not in pools:
            return
        index = used[name] = used.get(name, -1) + 1
        if index == len(pools[name]):
            pools[name].append(trainer.environment_factories[name]())
        environment = pools[name][index]
        if isinstance(environment, ToolEnvironment):
            columns = {key: value for key, value in row.items() if not (is_multi and key == "environment")}
            environment._start_ahead(executor, columns)


class _Given(BaseException):
    """Ends a rollout's thread because another one has failed; nobody but the batch sees it."""


@dataclass
class _Rollout:
    """One rollout in its thread.

    Attributes:
        asked: arguments of the generation that it waits for.
        got: what that gave.
        result: what its loop has returned.
        error: what its loop has raised.
    """

    thread: threading.Thread | None = None
    asked: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    got: Any = None
    result: Any = None
    error: BaseException | None = None
    is_over: bool = False

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for the next turn of generation."""
        return self.asked is not None


class _Batch:
    """The rollouts of one batch, from their first tool calls to the end of the last one.

    Args:
        trainer: whose batch it is.
        loop: its own loop.
        arguments: of the loop, by name; those with a list have one item for each rollout.
        fields: the loop's argument ``multimodal_fields`` for each rollout, where it has one.
    """

    def __init__(
        self, trainer: Any, loop: Callable[..., Any], arguments: dict[str, Any], fields: list[dict[str, Any]] | None
    ) -> None:
        self._trainer = trainer
        self._function: Callable[..., Any] = getattr(loop, "__func__")  # noqa: B009 - a method's own function
        self._arguments = arguments
        self._fields = fields
        self._size = len(arguments["prompts"])
        self._rollouts = [_Rollout() for _ in range(self._size)]
        self._turn = threading.Condition(threading.Lock())
        self._baton = threading.Lock()
        self._is_given_up = False

    def run(self) -> Any:
        """Run all and return what the loop would have returned for the batch."""
        for index, rollout in enumerate(self._rollouts):
            rollout.thread = threading.Thread(target=self._play, args=(index,), name=f"rollout-{index}", daemon=True)
            rollout.thread.start()
        try:
            while self._await_all():
                self._generate()
        finally:
            self._end()
        failed = next((rollout.error for rollout in self._rollouts if rollout.error is not None), None)
        if failed is not None:
            raise failed
        return _merged([rollout.result for rollout in self._rollouts])

    def _await_all(self) -> list[int]:
        """Wait until each rollout is over or wants to generate; returns those that want to."""
        with self._turn:
            self._turn.wait_for(lambda: all(r.is_over or r.asked is not None for r in self._rollouts))
            if any(rollout.error is not None for rollout in self._rollouts):
                return []
            return [index for index, rollout in enumerate(self._rollouts) if rollout.asked is not None]

    def _generate(self) -> None:
        """One turn of generation for all that wait: in one batch, but where their pictures make none."""
        waiting = [rollout for rollout in self._rollouts if rollout.asked is not None]
        asked = [rollout.asked for rollout in waiting if rollout.asked is not None]
        dictionaries = [[value for value in args if isinstance(value, dict)] for args, _ in asked]
        is_one = all(can_be_joined(list(column)) for column in zip(*dictionaries, strict=True))
        for first in [0] if is_one else range(len(waiting)):
            last = len(waiting) if is_one else first + 1
            args, kwargs = _merged_call(asked[first:last])
            given = self._trainer._generate_single_turn(*args, **kwargs)
            for index, rollout in enumerate(waiting[first:last]):
                rollout.got = tuple(part if part is None else part[index : index + 1] for part in given)
        with self._turn:
            for rollout in waiting:
                rollout.asked = None
            self._turn.notify_all()

    def _end(self) -> None:
        with self._turn:
            self._is_given_up = True
            self._turn.notify_all()
        for rollout in self._rollouts:
            if rollout.thread is not None:
                rollout.thread.join()

    def _play(self, index: int) -> None:
        rollout = self._rollouts[index]
        arguments = {
            name: [value[index]] if isinstance(value, list) and len(value) == self._size else value
            for name, value in self._arguments.items()
        }
        if self._fields is not None:
            arguments["multimodal_fields"] = self._fields[index]
        try:
            with self._baton:
                rollout.result = self._function(self._view(index), **arguments)
        except _Given:
            pass
        except BaseException as error:  # noqa: BLE001 - it is raised again in the trainer's own thread
            rollout.error = error
        with self._turn:
            rollout.is_over = True
            self._turn.notify_all()

    def _view(self, index: int) -> Any:
        """The trainer as it looks for one rollout: everything shared but what there is of each rollout."""
        view = copy.copy(self._trainer)
        for name in _PER_ROLLOUT:
            value = getattr(view, name, None)
            if isinstance(value, list) and len(value) == self._size:
                setattr(view, name, [value[index]])
        aside = _Aside(self._baton)
        view._sync_tool_dicts = [{k: aside.around(tool) for k, tool in view._sync_tool_dicts[0].items()}]
        view._async_tool_dicts = [{k: aside.around_async(tool) for k, tool in view._async_tool_dicts[0].items()}]
        view._generate_single_turn = functools.partial(self._ask, index)
        return view

    def _ask(self, index: int, *args: Any, **kwargs: Any) -> Any:
        rollout = self._rollouts[index]
        self._baton.release()
        try:
            with self._turn:
                rollout.asked = args, kwargs
                self._turn.notify_all()
                self._turn.wait_for(lambda: not rollout.is_waiting or self._is_given_up)
                if rollout.is_waiting:
                    raise _Given
        finally:
            self._baton.acquire()
        return rollout.got


class _Aside:
    """Lets others run while one rollout is inside its tools."""

    def __init__(self, baton: threading.Lock) -> None:
        self._baton = baton
        self._inside = 0

    def around(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        def stepping_aside(*args: Any, **kwargs: Any) -> Any:
            self._baton.release()
            try:
                return tool(*args, **kwargs)
            finally:
                self._baton.acquire()

        return stepping_aside

    def around_async(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        # All of one rollout's run on the trainer's loop, in one thread: the count needs no lock. The thread that holds
        # the baton waits for them, so the first to begin may put it down and the last to end must take it up.
        @functools.wraps(tool)
        async def stepping_aside(*args: Any, **kwargs: Any) -> Any:
            self._inside += 1
            if self._inside == 1:
                self._baton.release()
            try:
                return await tool(*args, **kwargs)
            finally:
                self._inside -= 1
                if self._inside == 0:
                    while not self._baton.acquire(blocking=False):  # noqa: ASYNC110 - it is no asyncio lock
                        await asyncio.sleep(0.0005)

        return stepping_aside


def _merged_call(asked: Sequence[tuple[tuple[Any, ...], dict[str, Any]]]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of one generation for all: lists are joined, anything else is the same for each."""
    args = [_joined([args[position] for args, _ in asked]) for position in range(len(asked[0][0]))]
    kwargs = {name: _joined([kwargs[name] for _, kwargs in asked]) for name in asked[0][1]}
    return args, kwargs


def _joined(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return joined_fields(values)
    if any(isinstance(value, list) for value in values):
        return [item for value in values for item in (value if isinstance(value, list) else [None])]
    if all(isinstance(value, bool) for value in values):
        return any(values)
    return values[0]


def _merged(results: list[Any]) -> tuple[Any, ...]:
    """What the loop returns for a batch: lists are joined, counts are added, what is ``None`` for each stays so."""
    merged: list[Any] = []
    for parts in zip(*results, strict=True):
        if isinstance(parts[0], list):
            merged.append([item for part in parts for item in part])
        elif isinstance(parts[0], int):
            merged.append(sum(parts))
        else:
            merged.append(parts[0])
    return tuple(merged)
