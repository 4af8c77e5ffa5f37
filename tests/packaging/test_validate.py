"""``openenv validate`` and ``openenv doctor``: what they see, and how they end."""

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openenv_core.errors import ConfigurationError
from openenv_core.packaging.findings import Severity
from openenv_core.packaging.inspection import inspect_project
from openenv_core.packaging.project import Project, find_project
from openenv_core.packaging.validation import validate_project
from openenv_core.runtimes.process import ProcessRuntime
from tests.packaging.conftest import Done, Run

pytestmark = pytest.mark.timeout(120)


def findings(done: Done) -> dict[str, dict[str, Any]]:
    """The findings of a report, by name; of several of a name the last."""
    return {each["name"]: each for each in json.loads(done.out)["findings"]}


def test_an_environment_of_ours_is_valid(openenv: Run) -> None:
    done = openenv("validate", "echo_env", "--no-image", "--episodes", "1", "--json", "--strict")
    report = json.loads(done.out)
    assert (done.code, report["ok"], report["errors"], report["warnings"]) == (0, True, 0, 0)
    areas = {each["name"].partition(".")[0] for each in report["findings"]}
    assert areas == {"manifest", "card", "package", "files", "promise", "image"}


@pytest.mark.parametrize("name", ["browsergym_env", "echo_env", "openspiel_env", "textarena_env"])
def test_nothing_is_wrong_with_what_we_ship(name: str) -> None:
    found = list(inspect_project(find_project(name)))
    assert [each for each in found if each.severity is not Severity.OK] == []


@pytest.mark.parametrize(
    ("path", "old", "new", "name", "severity"),
    [
        ("envs/echo_env/openenv.yaml", "echo_env_server.app:app", "echo_server.app:app", "manifest.app", "error"),
        ("envs/echo_env/openenv.yaml", "version: 1.0.0.dev0", "version: 9.0.0", "manifest.versions", "warning"),
        ("envs/echo_env/README.md", "app_port: 8000", "app_port: 7860", "card.front_matter", "error"),
        ("envs/echo_env/README.md", "colorFrom: blue", "colorFrom: mauve", "card.front_matter", "error"),
        ("envs/echo_env/README.md", "  - openenv\n", "", "card.front_matter", "error"),
        ("envs/echo_env/Dockerfile", "USER 1000:1000", "USER root", "image.user", "warning"),
        ("envs/echo_env/Dockerfile", "HEALTHCHECK", "# HEALTHCHECK", "image.health", "warning"),
        ("envs/echo_env/Dockerfile", "EXPOSE 8000", "EXPOSE 80", "image.port", "warning"),
        ("clients/echo_env/pyproject.toml", "openenv-core>", "openenv-core[server]>", "package.light", "error"),
        ("clients/echo_env/pyproject.toml", "openenv.clients", "my.clients", "package.openenv.clients", "error"),
        ("envs/echo_env/pyproject.toml", "openenv.environments", "my", "package.openenv.environments", "error"),
        ("clients/echo_env/pyproject.toml", 'readme = "README.md"', 'readme = "A.md"', "package.openenv-echo-env", ""),
    ],
)
def test_a_fault_is_found(openenv: Run, echo: Path, path: str, old: str, new: str, name: str, severity: str) -> None:
    spoilt = echo.parent.parent / path
    text = spoilt.read_text()
    assert old in text
    spoilt.write_text(text.replace(old, new))
    done = openenv("validate", echo, "--no-image", "--json")
    seen = [each for each in json.loads(done.out)["findings"] if each["name"] == name and each["severity"] != "ok"]
    assert seen, done.out
    assert all(each["remedy"] for each in seen)
    assert {each["severity"] for each in seen} <= ({severity} if severity else {"error", "warning"})
    assert done.code == (1 if any(each["severity"] == "error" for each in seen) else 0)


def test_a_missing_file_is_found(openenv: Run, echo: Path) -> None:
    (echo / "Dockerfile").unlink()
    (echo / "README.md").unlink()
    (echo / "echo_env_server" / "py.typed").unlink()
    done = openenv("validate", echo, "--no-image", "--json")
    severities = {name: each["severity"] for name, each in findings(done).items()}
    assert (severities["image.dockerfile"], severities["card.readme"]) == ("error", "error")
    assert severities["package.openenv-echo-env-server"] == "warning"
    assert done.code == 1


def test_a_secret_is_found(openenv: Run, echo: Path) -> None:
    (echo / ".env").write_text("KEY=1")
    done = openenv("validate", echo, "--no-image", "--json")
    assert findings(done)["files.secrets"]["severity"] == "error"
    assert done.code == 1


def test_what_is_not_installed_is_not_taken_for_what_is(openenv: Run, echo: Path) -> None:
    done = openenv("validate", echo, "--no-image", "--json")
    found = findings(done)
    assert "installed from elsewhere" in found["package.installed"]["message"]
    assert not [name for name in found if name.startswith("promise")]


def test_models_that_are_not_the_client_s_are_found() -> None:
    project = find_project("echo_env")
    wrong = project.manifest.model_copy(update={"action": "EchoState", "observation": "NothingSuch"})
    found = validate_project(replace(project, manifest=wrong), {"only": ("health",)})
    errors = {each.name for each in found if each.severity is Severity.ERROR}
    assert errors == {"manifest.action", "manifest.observation"}


def test_an_image_that_does_not_build_is_an_error() -> None:
    def build(project: Project) -> str:
        raise ConfigurationError("no such base image")

    found = list(validate_project(find_project("echo_env"), {"only": ("health",)}, build=build))
    assert [(each.name, each.message) for each in found if each.severity is Severity.ERROR] == [
        ("image.build", "no such base image")
    ]


def test_strict_counts_warnings(openenv: Run, echo: Path) -> None:
    dockerfile = echo / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text().replace("USER 1000:1000", "USER root"))
    assert openenv("validate", echo, "--no-image").code == 0
    done = openenv("validate", echo, "--no-image", "--strict")
    assert done.code == 1
    assert "it runs as root" in done.out
    assert "→ Add a user" in done.out


def test_a_server_is_validated_by_its_address(openenv: Run) -> None:
    with ProcessRuntime("echo_env") as server:
        done = openenv("validate", server.base_url, "--episodes", "1", "--json")
    found = findings(done)
    assert done.code == 0, done.out
    assert found["server.health"]["severity"] == "ok"
    assert found["promise.plays"]["severity"] == "ok"


@pytest.mark.parametrize(
    ("target", "told"),
    [("nothing_such", "neither a folder"), ("http://127.0.0.1:9", "does not answer"), ("EMPTY", "no openenv.yaml")],
)
def test_what_is_not_there_is_no_report(openenv: Run, tmp_path: Path, target: str, told: str) -> None:
    done = openenv("validate", tmp_path if target == "EMPTY" else target)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [("- a list", "valid dictionary"), ("name: [", "is not YAML"), ("name: Echo\napp: a:b", "field 'name'")],
)
def test_a_manifest_that_is_none_is_told(openenv: Run, echo: Path, text: str, told: str) -> None:
    (echo / "openenv.yaml").write_text(text)
    done = openenv("validate", echo)
    assert done.code == 2
    assert told in done.err


def test_the_doctor_tells_what_works(openenv: Run) -> None:
    done = openenv("doctor", "--port", "0", "--json")
    found = findings(done)
    assert done.code == 0, done.out
    for name in ("python", "framework", "extra.cli", "extra.server", "environment.echo_env", "port"):
        assert found[name]["severity"] == "ok", found[name]
    assert {"docker", "browser", "hub", "extra.training", "extra.hub"} <= set(found)


def test_the_doctor_tells_how_to_mend(openenv: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("BROWSERGYM_BROWSER", str(tmp_path / "none"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = openenv("doctor", "--port", taken.getsockname()[1])
    assert done.code == 1
    for remedy in ("hf auth login", "DOCKER_HOST", "openenv install-browser", "--port 0"):
        assert remedy in done.out


def test_a_distribution_of_another_project_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from openenv_core.packaging import doctor

    monkeypatch.setattr("openenv_core.__version__", "7.0.0")
    found = next(each for each in doctor.examine(0) if each.name == "framework")
    assert found.severity is Severity.ERROR
    assert "Another project" in found.remedy
