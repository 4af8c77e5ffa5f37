"""Many sessions stepped together."""

import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from openenv_core.client._base import ClientBase
from openenv_core.client._batch import Carrier, OneSocket, Outcome, Request, SideBySide, Verb
from openenv_core.client._effects import left_with_parent
from openenv_core.client.sync import Driver, EnvClient
from openenv_core.errors import ConfigurationError, OpenEnvError, SessionLostError
from openenv_core.types import StepResult

__all__ = ["BatchClient"]

ActionT = TypeVar("ActionT")
ObservationT = TypeVar("ObservationT")
StateT = TypeVar("StateT")


def _farewell(driver: Driver, carrier: Carrier) -> None:
    """The client is gone without a ``close()``: end its sessions all the same, without waiting for anything."""
    if driver.lock.acquire(blocking=False):
        try:
            carrier.close(limit_s=0.0)
        finally:
            driver.lock.release()


class BatchClient(ClientBase, Generic[ActionT, ObservationT, StateT]):
    """Sessions of one environment, stepped together over one socket (with a server of protocol version 1: one each).

    A call for all sessions waits for all answers. When some fail, the others' answers are not lost: with
    ``return_exceptions`` each error stands in its place in the list; otherwise the first is raised, and its
    ``details["results"]`` holds the list.

    >>> with EchoEnv.batch("http://127.0.0.1:8000", sessions=64) as batch:   # doctest: +SKIP
    ...     batch.reset(seeds=range(64))
    ...     results = batch.step([EchoAction(message="hi")] * 64)
    """

    def __init__(
        self, base_url: str, sessions: int, *, types: type[ClientBase] | None = None, **arguments: Any
    ) -> None:
        """Connects at the first call, or by ``with`` or ``connect()``.

        Args:
            base_url: the server.
            sessions: how many; the server's capacity must allow them, or ``wait_for_capacity_s`` be given.
            types: a typed client class whose models are used.
            **arguments: ``action_type``, ``observation_type``, ``state_type`` in place of ``types``, and the arguments
                of :class:`~openenv_core.client.sync.EnvClient`.

        Raises:
            ValueError: ``sessions`` is less than 1, or the address cannot be one.
        """
        if sessions < 1:
            raise ValueError(f"sessions is {sessions}; it must be 1 or more")
        for name in ("action_type", "observation_type", "state_type"):
            setattr(self, name, arguments.pop(name, getattr(types or type(self), name)))
        super().__init__(base_url, **arguments)
        self._arguments = arguments
        self._sessions = sessions
        self._driver = Driver()
        self._carrier: Carrier | None = None
        self._lock = self._driver.lock  # whoever looks after idle sockets must not read while a call does
        self._pending: set[int] = set()
        self._process = os.getpid()
        self._lost: SessionLostError | None = None

    def __len__(self) -> int:
        """Number of sessions."""
        return self._sessions

    def connect(self) -> Self:
        """Open the connection and all sessions now. Raises as :meth:`EnvClient.connect`; then none is left open."""
        with self._lock:
            self._leave_to_parent()
            if self._carrier is None:
                self._carrier = self._connect()
                self._parting = weakref.finalize(self, _farewell, self._driver, self._carrier)
        return self

    def _leave_to_parent(self) -> None:
        """In a process that was forked: the sessions are the parent's, which goes on with them."""
        if self._process == os.getpid():
            return
        self._process = os.getpid()
        if self._carrier is not None:
            self._carrier, self._lost = None, left_with_parent()
            self._parting.detach()
            self._pending.clear()
            self._driver.drop()

    def _check_session(self, verb: Verb) -> None:
        """Raises ``SessionLostError`` where the sessions were left behind and ``verb`` begins no episode."""
        self._leave_to_parent()
        if verb == "reset":
            self._lost = None
        if self._lost is not None:
            raise SessionLostError(self._lost.message, **self._lost.details)

    def _connect(self) -> Carrier:
        calls = self._driver.connect(self)
        if calls.resumable:
            carrier = OneSocket(self, self._driver, calls, self._sessions)
            try:
                carrier.open()
            except OpenEnvError:
                carrier.close()
                raise
            return carrier
        self._driver.drop()
        types = type("_Single", (EnvClient,), {name: getattr(self, name) for name in _TYPES})
        clients = [types(self._base_url, **self._arguments) for _ in range(self._sessions)]
        return SideBySide(clients)

    def reset(
        self,
        seeds: Iterable[int | None] | None = None,
        *,
        options: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        indices: Sequence[int] | None = None,
        return_exceptions: bool = False,
    ) -> list[StepResult[ObservationT]]:
        """Start an episode in every session, or in those of ``indices``.

        Args:
            seeds: one for each; ``None`` leaves it to the environment.
            options: the same for all, or one mapping for each.
            indices: which sessions; default: all.
            return_exceptions: errors stand in the list instead of being raised.

        Returns:
            One result for each index, in their order.
        """
        chosen = list(range(self._sessions)) if indices is None else self._checked(indices)
        given = [None] * len(chosen) if seeds is None else list(seeds)
        each = [options or {}] * len(chosen) if options is None or isinstance(options, Mapping) else list(options)
        if len(given) != len(chosen) or len(each) != len(chosen):
            raise ConfigurationError(f"{len(chosen)} sessions, {len(given)} seeds and {len(each)} options do not match")
        requests = {
            index: Request("reset", dict(more) if seed is None else {"seed": seed, **more})
            for index, seed, more in zip(chosen, given, each, strict=True)
        }
        return self._all(requests, chosen, return_exceptions)

    def step(
        self,
        actions: Sequence[ActionT | None] | Mapping[int, ActionT],
        *,
        return_exceptions: bool = False,
    ) -> list[StepResult[ObservationT]]:
        """Do one action in every session.

        Args:
            actions: one for each session; ``None`` leaves a session out. Or a mapping from index to action.
            return_exceptions: errors stand in the list instead of being raised.

        Returns:
            One result for each action, in their order.
        """
        requests = self._steps(actions)
        return self._all(requests, list(requests), return_exceptions)

    def state(self) -> list[StateT]:
        """The state of every session."""
        indices = list(range(self._sessions))
        return self._all({index: Request("state") for index in indices}, indices, False)

    def send(self, actions: Sequence[ActionT | None] | Mapping[int, ActionT]) -> None:
        """The first half of :meth:`step`: send the actions and return. :meth:`recv` gives the results as they come."""
        requests = self._steps(actions)
        with self._lock:
            self._check_session("step")
            twice = self._pending & set(requests)
            if twice:
                raise ConfigurationError(f"sessions {sorted(twice)} have a step out; receive its result first")
            self.connect()
            assert self._carrier is not None
            self._carrier.submit(requests, self._settings.message_timeout_s)
            self._pending |= set(requests)

    def recv(self, count: int = 1) -> dict[int, StepResult[ObservationT] | OpenEnvError]:
        """The results of steps that were sent, by session index: at least ``count`` of them, in the order they came.

        Waits no longer than for all that are out; with nothing out, returns an empty dict.
        """
        with self._lock:
            self._leave_to_parent()
            if not self._pending or self._carrier is None:
                return {}
            outcomes = self._carrier.collect(min(count, len(self._pending)))
            self._pending -= set(outcomes)
        return {index: value if error is None else error for index, (value, error) in outcomes.items()}

    def close(self) -> None:
        """End all sessions and the connection. Never connects, never fails; may be called more than once."""
        with self._lock:
            self._leave_to_parent()
            carrier, self._carrier = self._carrier, None
            self._pending.clear()
            if carrier is not None:
                self._parting.detach()
                carrier.close()

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _steps(self, actions: Sequence[ActionT | None] | Mapping[int, ActionT]) -> dict[int, Request]:
        if isinstance(actions, Mapping):
            self._checked(actions)
            return {index: Request("step", self._typed_action(action)) for index, action in actions.items()}
        if len(actions) != self._sessions:
            raise ConfigurationError(f"{len(actions)} actions for {self._sessions} sessions; None leaves one out")
        return {
            index: Request("step", self._typed_action(action))
            for index, action in enumerate(actions)
            if action is not None
        }

    def _checked(self, indices: Iterable[int]) -> list[int]:
        chosen = list(indices)
        wrong = [index for index in chosen if not 0 <= index < self._sessions]
        if wrong:
            raise ConfigurationError(
                f"no session has the index {wrong[0]}: there are {self._sessions} sessions, from 0"
            )
        return chosen

    def _all(self, requests: dict[int, Request], order: list[int], return_exceptions: bool) -> list[Any]:
        with self._lock:
            self._check_session(next((request.verb for request in requests.values()), "step"))
            if self._pending:
                raise ConfigurationError(f"sessions {sorted(self._pending)} have a step out; receive its result first")
            self.connect()
            assert self._carrier is not None
            self._carrier.submit(requests, self._settings.message_timeout_s)
            outcomes: dict[int, Outcome] = {}
            while len(outcomes) < len(requests):
                outcomes.update(self._carrier.collect(len(requests) - len(outcomes)))
        results = [outcomes[i].value if outcomes[i].error is None else outcomes[i].error for i in order]
        if not return_exceptions:
            for index in order:
                error = outcomes[index].error
                if error is not None:
                    error.details.update(session_index=index, results=results)
                    raise error
        return results


_TYPES = ("action_type", "observation_type", "state_type")
