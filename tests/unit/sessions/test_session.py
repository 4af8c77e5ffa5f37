import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from openenv_core.backends import InlineBackend
from openenv_core.environment import Environment
from openenv_core.errors import (
    EnvironmentFailedError,
    EpisodeNotStartedError,
    EpisodeOverError,
    InvalidObservationError,
    InvalidRewardError,
    LossReason,
    ProtocolError,
    SessionLostError,
    UnknownResetOptionError,
)
from openenv_core.sessions.admission import Ticket
from openenv_core.sessions.lease import Lease
from openenv_core.sessions.session import Outcome, Session, explain_loss
from openenv_core.settings import ServerSettings
from openenv_core.types import Observation, State
from tests.support.journal import Act, Journal, Seen
from tests.support.places import Place
from tests.support.sessions import managing, play
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


def kept(value: Any) -> Any:
    return value


async def reset(session: Session, **options: Any) -> Seen:
    outcome = await session.reset(options, kept)
    seen: Seen = outcome.observation
    return seen


async def test_an_episode(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        session = await manager.one()
        assert (await reset(session, seed=3)).seed == 3
        assert (await play(session, Act(reward=0.5))).reward == 0.5
        assert (await play(session, Act(reward=1.0, ends=True))).done
        with pytest.raises(EpisodeOverError):
            await play(session)
        assert session.episode.total_reward == 1.5
        assert (await session.state(kept)).step_count == 2
        assert (await reset(session)).steps == 0
        assert session.steps_in_all == 2


async def test_a_step_before_the_first_reset_runs_nothing(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        session = await manager.one()
        with pytest.raises(EpisodeNotStartedError):
            await play(session)
        assert "step" not in journal.events()


async def test_an_option_that_does_not_fit_runs_nothing_and_the_episode_goes_on(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        session = await manager.one()
        await reset(session)
        with pytest.raises(UnknownResetOptionError, match="'sede'"):
            await reset(session, sede=1)
        assert journal.count("reset") == 1
        assert (await play(session)).steps == 1


async def test_a_reset_that_fails_leaves_no_episode(place: Place, journal: Journal) -> None:
    class Fails(place.world):  # type: ignore[misc,name-defined]
        def _begin(self, seed: int | None) -> Seen:
            if seed == 13:
                raise RuntimeError("an unlucky seed")
            started: Seen = super()._begin(seed)
            return started

    broken = Place(place.name, place.make, Fails)
    async with managing(broken, journal) as manager:
        session = await manager.one()
        await reset(session)
        with pytest.raises(EnvironmentFailedError, match="an unlucky seed"):
            await reset(session, seed=13)
        with pytest.raises(EpisodeNotStartedError):
            await play(session)
        assert (await reset(session, seed=1)).seed == 1


async def test_an_error_of_the_environment_is_typed_and_logged_under_an_id(
    place: Place, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    async with managing(place, journal) as manager:
        session = await manager.one()
        await reset(session)
        with pytest.raises(EnvironmentFailedError, match="it broke") as caught:
            await play(session, Act(fails="it broke"))
        assert caught.value.details["error_id"] in caplog.text
        assert "RuntimeError: it broke" in caplog.text
        assert (await play(session)).steps == 1


async def test_calls_run_one_at_a_time_in_the_order_in_which_they_come(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        session = await manager.one()
        first = asyncio.create_task(reset(session, gate="later"))
        await until(lambda: "waits" in journal.events())
        steps = [asyncio.create_task(play(session)) for _ in range(3)]
        state = asyncio.create_task(session.state(kept))
        await asyncio.sleep(0)
        assert not any(task.done() for task in [first, *steps, state])
        journal.open_gate("later")
        assert [(await task).steps for task in [first, *steps]] == [0, 1, 2, 3]
        assert (await state).step_count == 3


class Counter(Environment[Any, Observation, State]):
    """``reset`` is awaited, ``step`` answers at once."""

    execution = "inline"
    auto_start = True

    def __init__(self) -> None:
        self.count = 0

    async def reset(self) -> Observation:
        await asyncio.sleep(0)
        self.count = 0
        return Observation()

    def step(self, action: Any) -> Observation:
        self.count += 1
        return Observation(reward=self.count)


async def counter(world: type[Any] = Counter, **limits: Any) -> Session:
    handle = await InlineBackend().open(world)
    return Session(
        handle,
        Ticket(),
        Lease(0.0, idle_timeout_s=60.0, resume_grace_s=0.0),
        settings=ServerSettings(**limits),
        door="test",
        on_lost=lambda session, reason: None,
        clock=lambda: 0.0,
    )


async def test_a_seed_that_is_lost_is_told_once_for_each_class(caplog: pytest.LogCaptureFixture) -> None:
    class Deaf(Counter):
        pass

    class Lenient(Counter):
        episode_policy = "lenient"

    class TakesAll(Counter):
        async def reset(self, **options: Any) -> Observation:
            return Observation()

    for world in (Lenient, TakesAll, Deaf, Deaf):
        session = await counter(world)
        await session.reset({"seed": None, "episode_id": "e"}, kept)
        if world is Deaf:
            await session.reset({"seed": 3}, kept)
        await session.reset({"seed": 0}, kept)
    (told,) = [record.message for record in caplog.records if "takes no seed" in record.message]
    assert told.startswith("Deaf.reset takes no seed, and a client gave one")


async def test_a_step_that_could_run_at_once_does_not_overtake_what_waits() -> None:
    session = await counter()
    order: list[str] = []

    def note(word: str) -> Any:
        return lambda result: order.append(word)

    async def later(word: str) -> None:
        answer = session.step(None, note(word))
        if answer is not None:
            await answer

    started = asyncio.create_task(session.reset({}, note("reset")))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(later(f"step {number}")) for number in range(3)]
    while not started.done():  # noqa: ASYNC110 - the very round of the loop in which it ends is what matters
        await asyncio.sleep(0)
    await later("last")
    await asyncio.gather(*waiting)
    assert order == ["reset", "step 0", "step 1", "step 2", "last"]


async def test_a_step_that_answers_at_once_is_answered_at_once() -> None:
    session = await counter()
    answer = session.step(None, kept)
    assert isinstance(answer, Outcome)
    assert answer.observation.reward == 1


async def test_a_session_takes_only_so_many_calls_ahead(place: Place, journal: Journal) -> None:
    async with managing(place, journal, max_pipelined=3) as manager:
        session = await manager.one()
        first = asyncio.create_task(reset(session, gate="later"))
        waiting = [asyncio.create_task(play(session)) for _ in range(2)]
        await until(lambda: "waits" in journal.events())
        with pytest.raises(ProtocolError, match="wait already; read replies") as caught:
            await play(session)
        assert caught.value.details == {"limit": 3}
        journal.open_gate("later")
        await first
        assert [(await task).steps for task in waiting] == [1, 2]


async def test_a_call_that_waits_can_be_given_up_and_one_that_runs_cannot(place: Place, journal: Journal) -> None:
    async with managing(place, journal) as manager:
        session = await manager.one()
        running = asyncio.create_task(session.reset({"gate": "later"}, lambda outcome: b"reset"))
        await until(lambda: "waits" in journal.events())
        waiting = asyncio.create_task(session.state(lambda state: b"state"))
        await asyncio.sleep(0)
        session.cancel(running)
        session.cancel(waiting)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        journal.open_gate("later")
        assert await running == b"reset"
        assert "state" not in journal.events()
        assert (await play(session)).steps == 1


async def test_a_call_past_its_deadline_loses_the_session(place: Place, journal: Journal) -> None:
    async with managing(place, journal, step_deadline_s=0.1) as manager:
        session = await manager.one()
        await reset(session)
        with pytest.raises(SessionLostError, match=r"step took longer than 0\.1 s") as caught:
            await play(session, Act(gate="never"))
        assert caught.value.reason == "step_deadline"
        with pytest.raises(SessionLostError) as again:
            await play(session)
        assert again.value.reason == "step_deadline"


async def test_a_caller_s_own_limit_counts_where_it_is_the_smaller_one(place: Place, journal: Journal) -> None:
    async with managing(place, journal, step_deadline_s=60.0) as manager:
        session = await manager.one()
        await reset(session)
        with pytest.raises(SessionLostError, match=r"step took longer than 0\.1 s"):
            await play(session, Act(gate="never"), timeout_s=0.1)


async def test_the_class_s_own_deadline_counts_where_it_is_the_smaller_one(place: Place, journal: Journal) -> None:
    impatient = type("Impatient", (place.world,), {"step_deadline_s": 0.1})
    async with managing(Place(place.name, place.make, impatient), journal) as manager:
        session = await manager.one()
        with pytest.raises(SessionLostError, match=r"reset took longer than 0\.1 s"):
            await reset(session, gate="never")


async def test_a_step_that_wants_to_know_its_limit_is_told(place: Place, journal: Journal) -> None:
    told: list[float | None] = []

    class Timed:
        def reset(self) -> Observation:
            return Observation()

        def step(self, action: Any, timeout_s: float | None = None) -> Observation:
            told.append(timeout_s)
            return Observation()

    handle = await place.make().open(Timed)
    session = Session(
        handle,
        Ticket(),
        Lease(0.0, idle_timeout_s=60.0, resume_grace_s=0.0),
        settings=ServerSettings(),
        door="test",
        on_lost=lambda session, reason: None,
    )
    await reset(session)
    for limit in (None, 5.0):
        answer = session.step(None, kept, limit)
        if not isinstance(answer, Outcome):
            await answer
    assert told == [None, 5.0]
    await handle.close()


async def test_the_state_of_an_environment_without_one_is_told_by_the_framework() -> None:
    session = await counter()
    await session.reset({"episode_id": "mine"}, kept)
    session.step(None, kept)
    assert await session.state(kept) == State(episode_id="mine", step_count=1)


async def test_an_episode_without_a_name_is_given_one() -> None:
    session = await counter()
    await session.reset({}, kept)
    first = (await session.state(kept)).episode_id
    await session.reset({}, kept)
    assert first
    assert (await session.state(kept)).episode_id not in (None, first)


class Odd:
    """Returns whatever it was told to."""

    concurrency_safe = True

    def __init__(self, returns: Any) -> None:
        self.returns = returns

    def reset(self) -> Observation:
        return Observation()

    def step(self, action: Any) -> Any:
        return self.returns


@pytest.mark.parametrize(
    ("returns", "error"),
    [
        (None, InvalidObservationError),
        ({"reward": 1.0}, InvalidObservationError),
        (Observation.model_construct(reward=float("nan"), done=False, truncated=False), InvalidRewardError),
        (SimpleNamespace(reward="much", done=False), InvalidRewardError),
    ],
)
async def test_what_an_environment_returns_is_checked(place: Place, returns: Any, error: type[Exception]) -> None:
    handle = await place.make().open(lambda: Odd(returns))
    session = Session(
        handle,
        Ticket(),
        Lease(0.0, idle_timeout_s=60.0, resume_grace_s=0.0),
        settings=ServerSettings(),
        door="test",
        on_lost=lambda session, reason: None,
    )
    await reset(session)
    with pytest.raises(error):
        await play(session)
    assert (await reset(session)).done is False
    await handle.close()


@pytest.mark.parametrize("reason", LossReason)
def test_every_loss_is_explained(reason: LossReason) -> None:
    error = explain_loss(reason, "more about it")
    assert error.reason == reason
    assert "more about it; call reset" in error.message


def test_a_loss_of_another_kind_is_explained_too() -> None:
    assert "the session ended (solar_flare)" in explain_loss("solar_flare").message


async def test_ids_and_tokens_cannot_be_guessed() -> None:
    sessions = [await counter() for _ in range(20)]
    assert len({session.id for session in sessions}) == len({session.token for session in sessions}) == 20
    assert all(len(session.token) >= 32 and session.id not in session.token for session in sessions)
