"""Clients, a server and faults in any order, held against a simple model of what each client must see."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from openenv_core.errors import EpisodeNotStartedError, LossReason, SessionLostError
from tests.process.conftest import LONG
from tests.process.places import Count, Journal, replayed
from tests.process.players import IMPATIENT
from tests.process.worlds import CountAction, InlineWorld, ProcessWorld, ThreadWorld
from tests.support.fault_proxy import Direction, FaultProxy
from tests.support.serving import serving
from tests.support.waiting import eventually

CLIENTS = 2


class Model:
    """What a client must see."""

    def __init__(self) -> None:
        self.tag = ""
        self.values: list[int] = []
        self.adds: list[int] = []
        self.lost: frozenset[str] | None = None


class Machine(RuleBasedStateMachine):
    """The rules. Subclasses say where the world runs."""

    world: Any = ThreadWorld

    def __init__(self) -> None:
        super().__init__()
        self.stack = contextlib.ExitStack()
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.journal = Journal(folder / "journal")
        os.environ["OPENENV_TEST_JOURNAL"] = str(self.journal.path)
        limits = {"max_sessions": 8, "sessions_per_worker": 4, "resume_grace_s": 5.0}
        limits |= {"ping_interval_s": 0.3, "ping_timeout_s": 0.7}
        self.served = self.stack.enter_context(serving(self.world, limits=limits))
        self.proxy = self.stack.enter_context(FaultProxy(self.served.port))
        self.clients: list[Count] = []
        self.models: list[Model] = []
        self.episodes: list[Model] = []

    @initialize()
    def connect(self) -> None:
        for _ in range(CLIENTS):
            self.clients.append(Count(self.proxy.base_url, **IMPATIENT))
            self.models.append(Model())
            self.clients[-1].connect()

    @rule(which=st.integers(0, CLIENTS - 1), seed=st.integers(0, 10**6))
    def reset(self, which: int, seed: int) -> None:
        model = self.models[which] = Model()
        model.tag = f"episode {len(self.episodes)}"
        self.episodes.append(model)
        model.values = replayed(seed, [])
        result = self.clients[which].reset(seed=seed, tag=model.tag)
        assert (result.observation.count, result.observation.value) == (0, model.values[0])

    @rule(which=st.integers(0, CLIENTS - 1), add=st.integers(0, 99), size=st.sampled_from([0, 0, 5000]))
    def step(self, which: int, add: int, size: int) -> None:
        def act() -> None:
            result = client.step(CountAction(add=add, fill="x" * size))
            model.adds.append(add)
            model.values.append((model.values[-1] * 31 + add) % 1_000_003)
            seen = result.observation
            assert (seen.count, seen.value, len(seen.fill)) == (len(model.adds), model.values[-1], size)

        client, model = self.clients[which], self.models[which]
        self._expect(model, act)

    @rule(which=st.integers(0, CLIENTS - 1))
    def state(self, which: int) -> None:
        def ask() -> None:
            state = client.state()
            assert (state.count, state.value) == (len(model.adds), model.values[-1] if model.values else 0)

        client, model = self.clients[which], self.models[which]
        if model.values or model.lost is not None:
            self._expect(model, ask)

    def _expect(self, model: Model, act: Callable[[], None]) -> None:
        if model.lost is not None:
            with pytest.raises(SessionLostError) as lost:
                act()
            assert lost.value.reason in model.lost
        elif not model.values:
            # Nothing has begun: a session that is gone meanwhile is no loss of an episode, but is told, too.
            with pytest.raises((EpisodeNotStartedError, SessionLostError)):
                act()
        else:
            act()

    @rule()
    def cut(self) -> None:
        self.proxy.cut()

    @rule(count=st.integers(0, 3000), direction=st.sampled_from(Direction))
    def cut_later(self, count: int, direction: Direction) -> None:
        self.proxy.cut_after(count, direction)

    @rule(direction=st.sampled_from(Direction))
    def lose(self, direction: Direction) -> None:
        self.proxy.lose(direction)

    @rule(which=st.integers(0, CLIENTS - 1), reason=st.sampled_from([LossReason.IDLE_TIMEOUT, LossReason.CLOSED]))
    def end_session(self, which: int, reason: LossReason) -> None:
        model, name = self.models[which], self.clients[which].session_id
        manager = self.served.gateway.manager
        session = manager.sessions.get(name) if name is not None else None
        if session is None or model.lost is not None or not model.values:
            return
        loop = self.loop()
        loop.call_soon_threadsafe(manager.close_soon, session, reason)
        eventually(lambda: name not in manager.sessions)
        model.lost = frozenset([reason])

    @rule(which=st.integers(0, CLIENTS - 1))
    def close(self, which: int) -> None:
        model, client = self.models[which], self.clients[which]
        had_session = client.session_id is not None
        client.close()
        if model.lost is None and (had_session or model.values):
            model.lost = frozenset(["closed"])
        elif model.lost is not None and had_session:  # it had not heard yet, and may not have in its goodbye
            model.lost |= {"closed"}

    @rule(which=st.integers(0, CLIENTS - 1))
    def forget(self, which: int) -> None:
        self.clients[which] = Count(self.proxy.base_url, **IMPATIENT)
        self.models[which] = Model()

    @invariant()
    def capacity_is_kept(self) -> None:
        assert self.served.active <= 8

    def loop(self) -> Any:
        return self.served.server.servers[0].get_loop()

    def teardown(self) -> None:
        for client in self.clients:
            client.close()
        try:
            eventually(lambda: self.served.active == 0)
            for model in self.episodes:
                assert self.journal.adds(model.tag) == model.adds
            eventually(lambda: len(self.journal.entries("open")) == len(self.journal.entries("close")))
            self.journal.check_all_closed()
        finally:
            self.stack.close()
            del os.environ["OPENENV_TEST_JOURNAL"]


@pytest.mark.parametrize("world", [InlineWorld, ThreadWorld, ProcessWorld])
def test_any_order_is_as_the_model_says(world: Any) -> None:
    machine = type(f"{world.__name__}Machine", (Machine,), {"world": world})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=100 if LONG else 6,
            stateful_step_count=25,
            deadline=None,
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
