"""What the README files and the Dockerfiles tell people to type about containers, typed."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from openenv_core.runtimes.building import find_builder
from openenv_core.runtimes.readiness import is_ready
from tests.containers.engine import IMAGES, LIMIT_S, Images, running
from tests.support.source import REPOSITORY
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.timeout(LIMIT_S)

_TOLD = re.compile(r"^(?:#   )?((?:docker|openenv build|openenv run) .*)$", re.MULTILINE)
_PLACES = [
    REPOSITORY / "README.md",
    REPOSITORY / "docker/compose.yaml",
    *REPOSITORY.glob("envs/*/README.md"),
    *REPOSITORY.glob("envs/*/Dockerfile"),
]
LINES = sorted({line for place in _PLACES for line in _TOLD.findall(place.read_text())})
_PROGRAMS = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(), re.MULTILINE | re.DOTALL)
PROGRAMS = [program for program in _PROGRAMS if "from_docker_image" in program]

PROGRAMS = [
    code
    for code in re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    if "from_docker_image" in code
]


@pytest.fixture
def environ() -> dict[str, str]:
    """In which `docker` and `openenv` are the commands of this machine and of this environment."""
    builder = find_builder()
    folders = [str(Path(builder.program).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {**builder.environ, "PATH": os.pathsep.join(folders)}


def test_there_is_something_to_type() -> None:
    for verb in ("docker build", "docker run"):
        told = [line for line in LINES if line.startswith(verb)]
        assert all(any(each.image in line for line in told) for each in IMAGES)


@pytest.mark.parametrize("line", [line for line in LINES if " build " in line])
def test_what_builds(line: str, images: Images, environ: dict[str, str]) -> None:
    for each in IMAGES:
        if each.image in line or each.environment in line:
            images(each.environment)  # what is left is quick: the layers are there
    done = subprocess.run(
        shlex.split(line), cwd=REPOSITORY, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("docker run ")])
def test_what_runs(line: str, images: Images, engine: "DockerClient", environ: dict[str, str], free_port: int) -> None:
    (shipped,) = (each for each in IMAGES if line.endswith(each.image))
    images(shipped.environment)
    words = shlex.split(re.sub(r"--publish (127\.0\.0\.1:)?8000:", f"--publish 127.0.0.1:{free_port}:", line))
    done = subprocess.run(
        [*words[:2], "--detach", *words[2:]], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    container = engine.containers.get(done.stdout.strip())
    try:
        eventually(partial(is_ready, f"http://127.0.0.1:{free_port}"), limit_s=60)
    finally:
        container.remove(force=True)


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("openenv run ")])
def test_what_runs_until_it_is_stopped(line: str, images: Images, environ: dict[str, str], free_port: int) -> None:
    for each in IMAGES:
        images(each.environment)
    words = [*shlex.split(re.sub(r" --port \d+", "", line)), "--port", str(free_port)]
    with running(words, cwd=REPOSITORY, env=environ) as process:
        eventually(partial(is_ready, f"http://127.0.0.1:{free_port}"), limit_s=60)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("docker compose ")])
def test_what_composes(line: str, environ: dict[str, str]) -> None:
    # That it starts all four has its own test; here, whether the words are right.
    words = shlex.split(line)
    if subprocess.run(words[:2], env=environ, capture_output=True, check=False, timeout=60).returncode != 0:
        if shutil.which("docker-compose") is None:
            pytest.skip("there is no compose command here")
        words[:2] = ["docker-compose"]
    words[words.index("up") :] = ["config", "--quiet"]
    done = subprocess.run(words, cwd=REPOSITORY, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_what_is_programmed(program: str, images: Images) -> None:
    for each in IMAGES:
        if each.image in program:
            images(each.environment)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout


def test_there_is_something_programmed() -> None:
    assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_what_brings_its_server_along(program: str, images: Images, tmp_path: Path) -> None:
    for each in IMAGES:
        if f'"{each.image}"' in program:
            images(each.environment)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
