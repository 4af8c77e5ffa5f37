"""Short words for what the tests of this folder do all the time."""

from browsergym_env import BrowserGymAction, BrowserGymObservation
from browsergym_env_server import BrowserGymEnvironment
from browsergym_env_server.tab import Tab

__all__ = ["act", "script", "tab_of"]


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
