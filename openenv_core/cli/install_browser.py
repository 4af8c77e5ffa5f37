"""``openenv install-browser``: find a browser for the browser environment, or install one."""

from typing import Annotated

import typer

__all__ = ["install_browser"]


def install_browser(
    path: Annotated[str | None, typer.Argument(help="A browser to use, in place of what is looked for.")] = None,
) -> None:
    """Find a headless Chromium, or install one.

    Taken in this order: the path given, Playwright's own browser, Debian's chromium-headless-shell (installed by apt
    where this is root), Playwright's download.
    """
    from openenv_core.errors import ConfigurationError
    from openenv_core.targets import installed, load_object

    if "browsergym_env" not in installed():
        raise ConfigurationError(
            "the browser environment is not installed; try: pip install ./clients/browsergym_env ./envs/browsergym_env"
        )
    found = load_object("browsergym_env_server.executable:install_browser")(path, report=print)
    print(f"browser: {found.path}")
