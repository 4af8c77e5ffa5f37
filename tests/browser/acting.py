"""Short words for what the tests of this folder do all the time."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from browsergym_env import BrowserGymAction, BrowserGymObservation
from browsergym_env_server import BrowserGymEnvironment
from browsergym_env_server.keeper import Keeper
from browsergym_env_server.settings import BrowserGymSettings
from browsergym_env_server.tab import Tab

__all__ = ["act", "own_browser", "script", "tab_of"]

Open = Callable[[], BrowserGymEnvironment]


@asynccontextmanager
async def own_browser(settings: BrowserGymSettings | None = None) -> AsyncIterator[tuple[Keeper, Open]]:
    """A keeper of a test's own, and what opens sessions with it."""
    settings = settings or BrowserGymSettings()
    keeper = Keeper(settings)
    sessions: list[BrowserGymEnvironment] = []

    def open_session() -> BrowserGymEnvironment:
        session = BrowserGymEnvironment(settings)
        session._keeper = keeper
        sessions.append(session)
        return session

    try:
        yield keeper, open_session
    finally:
        for session in sessions:
            await session.close()
        await keeper.close()


async def act(environment: BrowserGymEnvironment, *actions: str) -> BrowserGymObservation:
    """Do the actions, each in a step of its own; gives the last observation."""
    assert actions
    for action in actions:
        observation = await environment.step(BrowserGymAction(action_str=action))
    return observation


async def tab_of(environment: BrowserGymEnvironment) -> Tab:
    """The tab in front of a session."""
    workspace = environment._workspace
    assert workspace is not None
    return await workspace.tab()


async def script(environment: BrowserGymEnvironment, body: str) -> object:
    """Run JavaScript in the page, as the page itself would: the body of an asynchronous function."""
    tab = await tab_of(environment)
    return await tab.page.evaluate(f"async () => {{ {body} }}")
