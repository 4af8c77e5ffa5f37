"""What can be found wrong before the first session, and is said then in one sentence."""

from collections.abc import Mapping

import httpx

from browsergym_env_server.executable import find_browser
from browsergym_env_server.pages import find_pages
from browsergym_env_server.settings import BrowserGymSettings
from browsergym_env_server.tasks import resolve_task
from openenv_core.errors import ConfigurationError, ValidationFailedError

__all__ = ["check_start"]

_LIMIT_S = 10.0


def check_start(environ: Mapping[str, str] | None = None) -> BrowserGymSettings:
    """The settings of the environment variables, after a look at whether they can work on this machine.

    Raises:
        ConfigurationError: a variable has a value that cannot work, or browser or pages are missing.
    """
    settings = BrowserGymSettings.from_environ(environ)
    try:
        resolve_task(settings.task_name)
    except ValidationFailedError as error:
        raise ConfigurationError(f"BROWSERGYM_TASK_NAME={settings.task_name!r}: {error.message}") from None
    find_browser(settings.browser)
    if settings.pages_url is None:
        find_pages(settings.pages_folder)
    else:
        _check_pages(f"{settings.pages_url}{settings.task_name}.html")
    return settings


def _check_pages(url: str) -> None:
    try:
        status = httpx.get(url, timeout=_LIMIT_S, trust_env=False).status_code
    except httpx.HTTPError as error:
        raise ConfigurationError(f"MINIWOB_URL: {url} is not reachable: {error}") from None
    if status != httpx.codes.OK:
        raise ConfigurationError(f"MINIWOB_URL: there is no task page at {url} (status {status})")
