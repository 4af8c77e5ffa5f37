"""Print what projects of this repository need from elsewhere: ``dependencies.py pyproject.toml:server,cli ...``.

An image installs these before it copies the sources, so that a change of the sources does not install them anew.
"""

import sys
import tomllib
from pathlib import Path

OURS = "openenv-"
"""What the distributions of this repository are called: they are installed from the sources."""


def dependencies(path: Path, extras: list[str]) -> list[str]:
    """The requirements of a project and some of its extras, without those that are projects of this repository."""
    project = tomllib.loads(path.read_text())["project"]
    found = list(project.get("dependencies", ()))
    for extra in extras:
        found += project["optional-dependencies"][extra]
    return [requirement for requirement in found if not requirement.startswith(OURS)]


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        name, _, wanted = argument.partition(":")
        for requirement in dependencies(Path(name), wanted.split(",") if wanted else []):
            sys.stdout.write(f"{requirement}\n")
