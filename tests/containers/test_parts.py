"""What is decided about containers without asking an engine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openenv_core.errors import ConfigurationError, ConnectionFailedError
from openenv_core.runtimes.building import Builder, copied_sources, default_tag, find_builder, find_context
from openenv_core.runtimes.owners import HOST_LABEL, PID_LABEL, STARTED_LABEL, is_abandoned, owner_labels
from openenv_core.runtimes.readiness import last_lines, wait_until_ready
from openenv_core.targets import installed
from tests.containers.engine import IMAGES
from tests.support.source import REPOSITORY

DOCKERFILES = sorted(REPOSITORY.glob("envs/*/Dockerfile"))


class TestOwners:
    def test_a_process_that_lives_has_abandoned_nothing(self) -> None:
        assert is_abandoned(owner_labels()) is False

    def test_a_process_that_is_gone_has(self) -> None:
        code = "from openenv_core.runtimes.owners import owner_labels as o; print(*o().values(), sep='\\n')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        labels = dict(zip([HOST_LABEL, PID_LABEL, STARTED_LABEL], done.stdout.splitlines(), strict=True))
        assert labels[HOST_LABEL] == owner_labels()[HOST_LABEL]
        assert is_abandoned(labels) is True

    def test_another_process_with_the_same_number(self) -> None:
        if not Path("/proc/self/stat").exists():
            pytest.skip("the system does not tell when a process was started")
        assert is_abandoned({**owner_labels(), STARTED_LABEL: "1"}) is True

    @pytest.mark.parametrize("labels", [{}, {HOST_LABEL: "elsewhere"}, {PID_LABEL: "x"}])
    def test_what_cannot_be_told_is_let_be(self, labels: dict[str, str]) -> None:
        gone = {**owner_labels(), PID_LABEL: "4194304"}
        assert is_abandoned(gone) is True
        assert is_abandoned({**gone, **labels} if labels else {}) is False


class TestReadiness:
    def test_it_asks_until_the_answer_is_yes(self) -> None:
        answers = iter([False, False, True])
        wait_until_ready("it", lambda: next(answers), limit_s=30, pause_s=0)

    def test_the_error_has_the_end_of_the_log(self) -> None:
        log = "\n".join(f"line {number}" for number in range(100))
        with pytest.raises(ConnectionFailedError, match=r"it was not ready within 0 s") as failed:
            wait_until_ready("it", lambda: False, limit_s=0, logs=lambda: log)
        assert "line 99" in failed.value.message
        assert "line 80" not in failed.value.message

    def test_nothing_is_waited_for_that_has_ended(self) -> None:
        with pytest.raises(ConnectionFailedError, match=r"it ended with exit code 3 \(code"):
            wait_until_ready("it", lambda: False, limit_s=3600, ended=lambda: "ended with exit code 3")

    def test_last_lines_of_little(self) -> None:
        assert last_lines("a\nb\n\n") == "a\nb"


class TestContext:
    def test_sources(self) -> None:
        text = (
            "FROM a AS b\nCOPY one two/three ./\nCOPY --chown=1:1 four \\\n  five/ /x\ncopy --from=b /opt /opt\n"
            "ADD https://example.org/x six /\nRUN echo COPY seven\n# COPY eight\n"
        )
        assert copied_sources(text) == ["one", "two/three", "four", "five/", "six"]

    def test_the_nearest_folder_that_has_them_all(self, tmp_path: Path) -> None:
        inner = tmp_path / "envs" / "mine"
        inner.mkdir(parents=True)
        (tmp_path / "core").mkdir()
        dockerfile = inner / "Dockerfile"
        dockerfile.write_text("COPY core /core\nCOPY envs/mine/Dockerfile /\n")
        assert find_context(dockerfile) == tmp_path
        dockerfile.write_text("COPY . /src\nCOPY Docker* /\n")
        assert find_context(dockerfile) == inner
        dockerfile.write_text("COPY Dockerfile missing /\n")
        with pytest.raises(ConfigurationError, match=r": missing \(code"):
            find_context(dockerfile)

    @pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
    def test_ours_are_built_in_the_repository(self, dockerfile: Path) -> None:
        assert find_context(dockerfile) == REPOSITORY


class TestCommand:
    def test_names(self) -> None:
        assert [default_tag(name) for name in ("echo_env", "textarena_env", "wordle", "my_own_env")] == [
            *("openenv-echo", "openenv-textarena", "openenv-wordle", "openenv-my-own")
        ]

    def test_one_platform(self, tmp_path: Path) -> None:
        builder = Builder("docker", has_plugin=False, has_buildkit=True)
        command = builder.build_command(tmp_path, "a", build_arguments={"X": "1"}, platform="linux/arm64", plain=True)
        assert command == [
            *("docker", "build", "--file", "-", "--tag", "a", "--platform", "linux/arm64", "--progress", "plain"),
            *("--build-arg", "X=1", str(tmp_path)),
        ]

    def test_several_platforms_go_to_a_registry_at_once(self, tmp_path: Path) -> None:
        both = "linux/amd64,linux/arm64"
        command = Builder("docker", True, True).build_command(tmp_path, "a", platform=both, push=True)
        assert command[:3] == ["docker", "buildx", "build"]
        assert "--push" in command
        for builder, push in ((Builder("docker", True, True), False), (Builder("docker", False, True), True)):
            with pytest.raises(ConfigurationError, match="buildx, and --push"):
                builder.build_command(tmp_path, "a", platform=both, push=push)

    def test_of_several_commands_the_first_with_buildkit(self, tmp_path: Path) -> None:
        programs = []
        for name, version, plugin in (("new", "28.2.2", False), ("old", "20.10.24", False), ("whole", "28.0.0", True)):
            program = tmp_path / name
            answer = "exit 0" if plugin else "exit 1"
            program.write_text(f'#!/bin/sh\n[ "$1" = buildx ] && {answer}\necho "Docker version {version}, build x"\n')
            program.chmod(0o755)
            programs.append(str(program))
        assert find_builder(programs) == Builder(programs[1], has_plugin=False, has_buildkit=True)
        assert find_builder(programs[:1]) == Builder(programs[0], has_plugin=False, has_buildkit=False)
        assert find_builder(programs[2:]).environ["DOCKER_BUILDKIT"] == "1"
        with pytest.raises(ConfigurationError, match="no docker command"):
            find_builder([])


class TestDockerfiles:
    def test_each_environment_has_one_and_an_image_that_is_tested(self) -> None:
        with_one = {path.parent.name for path in DOCKERFILES}
        assert with_one == {each.environment for each in IMAGES} == set(installed())

    def test_they_are_alike_below_what_they_install(self) -> None:
        def common(path: Path) -> str:
            text = path.read_text().partition("# Nothing is installed any more.")[2]
            names = {each.environment: each.image for each in IMAGES}
            text = text.replace(path.parent.name, "NAME").replace(names[path.parent.name], "IMAGE")
            kept = [line for line in text.splitlines() if "description=" not in line and "openenv.client=" not in line]
            text = "\n".join(kept)
            begin, end = text.find("# Playwright's driver"), text.find("COPY --from=build")
            return text if begin < 0 else text[:begin] + text[end:]

        assert len({common(path) for path in DOCKERFILES}) == 1


def test_the_helper_of_the_builds_knows_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["httpx>=0.28", "openenv-core[cli]>=1"]\n'
        '[project.optional-dependencies]\nserver = ["uvicorn"]\ncli = ["typer"]\ndev = ["pytest"]\n'
    )
    done = subprocess.run(
        [sys.executable, REPOSITORY / "docker" / "dependencies.py", "pyproject.toml:server,cli", "pyproject.toml"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == ["httpx>=0.28", "uvicorn", "typer", "httpx>=0.28"]
