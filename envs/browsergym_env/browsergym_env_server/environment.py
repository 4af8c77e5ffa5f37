"""The browser environment."""

import asyncio
import logging
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from browsergym_env.models import BrowserGymAction, BrowserGymObservation, BrowserGymState, ObservationPart
from browsergym_env_server import markup
from browsergym_env_server.actions import calls_of, command_of
from browsergym_env_server.episode import GOES_ON, Outcome, Rules, judge
from browsergym_env_server.hands import Hands
from browsergym_env_server.keeper import Keeper
from browsergym_env_server.language import ActionError
from browsergym_env_server.origins import is_allowed_address
from browsergym_env_server.seeding import LARGEST_SEED, page_seed
from browsergym_env_server.settings import BrowserGymSettings
from browsergym_env_server.tab import Look
from browsergym_env_server.tasks import MINIWOB_TASKS, resolve_task
from browsergym_env_server.workspace import Workspace
from openenv_core.backends import EnvironmentCrashedError
from openenv_core.environment import Environment
from openenv_core.errors import EnvironmentFailedError, EpisodeNotStartedError, EpisodeOverError
from openenv_core.types import Image

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["BrowserGymEnvironment"]

_log = logging.getLogger(__name__)

_QUIET_MS = 20
"""A page in which nothing has changed for so long is at rest: longer than the ticks of its animations (13 ms)."""

_LOOKS = 3
_PAGE_LIMIT_MARGIN_S = 100.0
"""A page's own time limit comes so much later than the environment's, which truncates instead of failing."""


class BrowserGymEnvironment(Environment[BrowserGymAction, BrowserGymObservation, BrowserGymState]):
    """MiniWoB tasks in a real browser, seen and acted on as BrowserGym does.

    Objects of one event loop share one Chromium; each has a context of its own in it. Making an object costs nothing:
    the browser is started by the first reset.
    """

    concurrency_safe = True
    execution = "inline"

    def __init__(self, settings: BrowserGymSettings | None = None) -> None:
        """Args:
        settings: read from the environment variables where it is not given.

        Raises:
            ConfigurationError: an environment variable has a value that cannot work.
        """
        self._settings = settings or BrowserGymSettings.from_environ()
        resolve_task(self._settings.task_name)
        self._seeds = random.Random()
        self._keeper: Keeper | None = None
        self._workspace: Workspace | None = None
        self._hands: Hands | None = None
        self._task_page: Page | None = None
        self._rules = Rules("", None, 0.0)
        self._parts: tuple[str, ...] = self._settings.observe
        self._started_at = 0.0
        self._outcome = GOES_ON
        self._state = BrowserGymState(benchmark=self._settings.benchmark, task_name=self._settings.task_name)

    async def reset(
        self,
        *,
        seed: int | None = None,
        episode_id: str | None = None,
        task_name: str | None = None,
        observe: list[ObservationPart] | None = None,
        max_steps: Annotated[int, Field(ge=1)] | None = None,
    ) -> BrowserGymObservation:
        """Open a task's page and start it. The options hold for this episode; what is not given is as the settings say.

        Args:
            seed: from 0 to 2**32 - 1; determines the page, as in BrowserGym. ``None`` for any.
            episode_id: a name for the episode.
            task_name: one of MiniWoB's tasks, for example ``login-user``.
            observe: what is taken of the page after each action.
            max_steps: the episode is truncated after so many steps.

        Raises:
            ValidationFailedError: there is no such task, or the seed is out of range. A running episode goes on.
            EnvironmentFailedError: the browser or the page does not start.
        """
        task = resolve_task(task_name or self._settings.task_name)
        drawn = page_seed(self._seeds.randint(0, LARGEST_SEED) if seed is None else seed)
        limit = self._settings.max_steps if max_steps is None else max_steps
        self._outcome = Outcome(done=True)
        self._parts = self._settings.observe if observe is None else tuple(observe)
        goal, look = await self._open(task, drawn)
        self._rules = replace(self._rules, max_steps=limit)
        self._outcome = GOES_ON
        self._started_at = time.monotonic()
        self._state = BrowserGymState(
            episode_id=episode_id,
            benchmark=self._settings.benchmark,
            task_name=task,
            task_id=f"{self._settings.benchmark}.{task}",
            goal=goal,
            current_url=look.url,
            max_steps=limit,
        )
        return self._observe(look, error="")

    async def step(self, action: BrowserGymAction) -> BrowserGymObservation:
        """Do what the action says, then look at the page.

        An action that fails is no exception: the observation tells why, and the episode goes on.

        Raises:
            EnvironmentCrashedError: the browser or the page has died, or does not answer any more.
        """
        if self._hands is None or self._workspace is None:
            raise EpisodeNotStartedError("no task has been opened yet; call reset first")
        if self._outcome.done:
            raise EpisodeOverError("the episode is over; call reset for the next one")
        async with self._workspace.lifeline():
            error = await self._act(action.action_str, self._hands)
            look = await self._look(self._workspace)
        self._state.step_count += 1
        self._outcome = judge(
            self._rules,
            look,
            in_front=self._workspace.front is self._task_page,
            travelled=self._hands.travelled,
            infeasible=self._hands.infeasible,
            steps=self._state.step_count,
            age_s=time.monotonic() - self._started_at,
        )
        self._state.cum_reward += self._outcome.reward
        self._state.current_url = look.url
        self._state.messages = list(self._hands.messages)
        observation = self._observe(look, error)
        observation.reward = self._outcome.reward
        return observation

    @property
    def state(self) -> BrowserGymState:
        """Which task is worked on, and how far it went."""
        return self._state

    async def close(self) -> None:
        """Close the session's pages and give the browser back."""
        self._outcome = Outcome(done=True)
        await self._drop_workspace()

    def list_splits(self) -> list[dict[str, str]]:
        """One split, which holds all tasks."""
        return [{"name": self._settings.benchmark, "type": "train"}]

    def list_tasks(self, split: str) -> list[dict[str, str]]:
        """All tasks, each with the option that ``reset`` takes for it."""
        return [{"task_name": name} for name in MINIWOB_TASKS] if split == self._settings.benchmark else []

    def num_tasks(self, split: str) -> int:
        """How many there are."""
        return len(self.list_tasks(split))

    def get_task(self, split: str, index: int) -> dict[str, str]:
        """One of them."""
        return self.list_tasks(split)[index]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, str]]:
        """Those from ``start`` up to but not including ``stop``."""
        return self.list_tasks(split)[start:stop]

    async def _open(self, task: str, drawn: int) -> tuple[str, Look]:
        """Start a task's page, in a new context where the one that is there does not serve; twice at most."""
        from playwright.async_api import Error

        try:
            return await self._open_once(task, drawn)
        except (Error, EnvironmentCrashedError) as error:
            _log.warning("opening %s failed, trying again in a new context: %s", task, error)
        await self._drop_workspace()
        try:
            return await self._open_once(task, drawn)
        except (Error, EnvironmentCrashedError) as error:
            await self._drop_workspace()
            text = str(error).partition("\n")[0]
            raise EnvironmentFailedError(f"the page of {task} does not start: {text}", task_name=task) from error

    async def _open_once(self, task: str, drawn: int) -> tuple[str, Look]:
        if self._keeper is None:
            self._keeper = Keeper.of_running_loop(self._settings)
        workspace = await self._workspace_for_reset(self._keeper)
        url = f"{self._keeper.pages_url}{task}.html"
        limit_s = self._settings.episode_limit_s
        self._rules = Rules(url, None, limit_s)
        self._hands = Hands(workspace, self._settings, self._keeper.allowed)
        tab = await workspace.tab()
        self._task_page = tab.page
        await tab.page.goto(url, wait_until="load")
        await tab.forget_history()
        goal = await tab.call("start", drawn, round((limit_s + _PAGE_LIMIT_MARGIN_S) * 1000))
        look = await tab.look(self._parts)
        workspace.collect_garbage_soon()
        return str(goal), look

    async def _workspace_for_reset(self, keeper: Keeper) -> Workspace:
        """The context of the last episode where that left no trace in it, otherwise a new one."""
        workspace = self._workspace
        is_tidy = self._hands is not None and not self._hands.left_traces
        if workspace is not None and is_tidy and await workspace.is_fresh():
            return workspace
        await self._drop_workspace()
        chromium = await keeper.acquire()
        try:
            self._workspace = await Workspace.open(chromium, self._settings)
        except BaseException:
            keeper.release(chromium)
            raise
        return self._workspace

    async def _drop_workspace(self) -> None:
        workspace, self._workspace, self._hands = self._workspace, None, None
        if workspace is not None and self._keeper is not None:
            await workspace.close()
            self._keeper.release(workspace.chromium)

    async def _act(self, text: str, hands: Hands) -> str:
        """Do the calls in a text; returns why one failed, empty where none did."""
        from playwright.async_api import Error

        settings = self._settings
        try:
            calls = calls_of(text, frozenset(settings.actions), several=settings.multiaction)
            async with asyncio.timeout(settings.timeout_s):
                for call in calls:
                    await command_of(call)(hands)
        except ActionError as error:
            return str(error)
        except TimeoutError:
            return f"TimeoutError: the actions of one step may take {settings.timeout_ms:g} ms, and they took longer"
        except Error as error:
            if self._workspace is None or not self._workspace.is_alive:
                raise
            return f"{type(error).__name__}: {error.message}"
        return ""

    async def _look(self, workspace: Workspace) -> Look:
        from playwright.async_api import Error

        for _ in range(_LOOKS):
            tab = await workspace.tab()
            if not self._may_be_seen(tab.page.url):
                # No action leads there; were there a way all the same, it would show nothing.
                return Look(url=tab.page.url)
            try:
                if self._settings.settle_ms:
                    await tab.settle(_QUIET_MS, self._settings.settle_ms)
                return await tab.look(self._parts)
            except Error as error:
                if not workspace.is_alive:
                    raise
                failure = error  # the page closed itself, say; the next look is at the one behind it
        raise EnvironmentCrashedError(f"the page cannot be seen ({failure.message.partition(chr(10))[0]})") from failure

    def _may_be_seen(self, address: str) -> bool:
        return self._keeper is not None and is_allowed_address(address, self._keeper.allowed)

    def _scaled(self, box: Sequence[float]) -> Iterator[float]:
        """A box in pixels of the picture."""
        return (round(value * self._settings.screenshot_scale, 1) for value in box)

    def _observe(self, look: Look, error: str) -> BrowserGymObservation:
        pruned = markup.prune(look.markup) if look.markup and "html" in self._parts else ""
        whole = markup.render(look.markup) if look.markup and "dom" in self._parts else ""
        outcome = self._outcome
        return BrowserGymObservation(
            text=look.axtree or pruned or whole,
            url=look.url,
            screenshot=Image(look.png) if look.png is not None else None,
            goal=self._state.goal,
            axtree_txt=look.axtree,
            pruned_html=pruned,
            dom_txt=whole,
            boxes={bid: tuple(self._scaled(box)) for bid, box in (look.boxes or {}).items()},
            focused_bid=look.focused,
            error=error,
            last_action_error=bool(error),
            done=outcome.done,
            truncated=outcome.truncated,
            success=outcome.success,
            raw_reward=outcome.raw,
            end_reason=outcome.reason,
        )
