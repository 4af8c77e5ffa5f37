"""The card of a Space: the README with its front matter, and how to use the Space."""

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from openenv_core.errors import ConfigurationError
from openenv_core.packaging.project import Project
from openenv_core.runtimes.space import space_subdomain

__all__ = ["front_matter", "space_card", "space_host"]

_FRONT = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)
_TAG = "openenv"


def front_matter(readme: str) -> tuple[dict[str, Any], str]:
    """The front matter of a README, and the text below it.

    Raises:
        ConfigurationError: the front matter is not a YAML mapping.
    """
    import yaml

    found = _FRONT.match(readme)
    if found is None:
        return {}, readme
    try:
        table = yaml.safe_load(found.group(1))
    except yaml.YAMLError as error:
        raise ConfigurationError(f"the README's front matter is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(table, dict):
        raise ConfigurationError("the README's front matter is not a YAML mapping")
    return table, readme[found.end() :]


def space_host(repo_id: str) -> str:
    """The host of a Space."""
    return f"{space_subdomain(repo_id)}.hf.space"


def space_card(project: Project, repo_id: str, space_url: str, *, variant: str | None = None) -> str:
    """The README of a Space.

    The front matter is the project's own; what the Space cannot do without is added, and what would contradict the
    container is put right.

    Args:
        project: whose ``README.md`` is taken.
        repo_id: ``owner/name`` of the Space.
        space_url: address of its repository.
        variant: named in the title.
    """
    import yaml

    path = project.folder / "README.md"
    readme = path.read_text(encoding="utf-8") if path.is_file() else f"# {_title(project)}\n"
    table, text = front_matter(readme)
    tags = [*table.get("tags", ()), *([] if _TAG in table.get("tags", ()) else [_TAG])]
    defaults: Mapping[str, Any] = {
        "title": _title(project),
        "emoji": "🎮",
        "colorFrom": "blue",
        "colorTo": "green",
        "pinned": False,
        "short_description": textwrap.shorten(project.manifest.description, 60, placeholder=" …"),
    }
    fixed = {"sdk": "docker", "app_port": project.manifest.port, "base_path": "/web", "tags": tags}
    card = {**defaults, **table, **fixed}
    if variant is not None:
        card["title"] = f"{card['title']}: {variant}"
    front = yaml.safe_dump(card, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n\n{text.strip()}\n\n{_usage(project, repo_id, space_url)}"


def _title(project: Project) -> str:
    return project.manifest.title or project.name.removesuffix("_env").replace("_", " ").capitalize()


def _usage(project: Project, repo_id: str, space_url: str) -> str:
    client = (project.client_class or "openenv_core:GenericEnvClient").replace(":", " import ")
    name = client.rpartition(" ")[2]
    return (
        f"## Use this Space\n\n"
        f"The page is at `/web`. The typed client, which is all that this installs:\n\n"
        f"```bash\npip install git+{space_url}\n```\n\n"
        f"```python\nfrom {client}\n\n"
        f'with {name}(base_url="https://{space_host(repo_id)}") as env:\n'
        f"    print(env.reset(seed=7).observation)\n```\n"
    )
