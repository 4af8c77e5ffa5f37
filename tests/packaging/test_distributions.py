"""What is in the wheels and source distributions, and that versions move together."""

import email
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from openenv_core.packaging.project import read_distribution
from openenv_core.packaging.wheel import write_core_wheel
from tests.packaging.conftest import PROJECTS, Distributions
from tests.support.source import REPOSITORY

pytestmark = pytest.mark.timeout(300)


def names_in(wheel: Path) -> set[str]:
    """The files of a wheel."""
    return set(zipfile.ZipFile(wheel).namelist())


def metadata(text: bytes) -> tuple[set[tuple[str, str]], str]:
    """Headers and description; requirements compared by what they mean."""
    about = email.message_from_bytes(text)
    meant = {(name, str(Requirement(value)) if name == "Requires-Dist" else value) for name, value in about.items()}
    return meant, str(about.get_payload())


def test_the_index_takes_them(distributions: Distributions) -> None:
    files = sorted(distributions.folder.iterdir())
    assert len(files) == 2 * len(PROJECTS)
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == len(files)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_wheel_is_complete(project: Path, distributions: Distributions) -> None:
    stated = read_distribution(project)
    wheel = distributions.wheel(stated.name)
    names = names_in(wheel)
    stem = f"{stated.name.replace('-', '_')}-{stated.version}.dist-info"
    tops = {name.partition("/")[0] for name in names}
    assert tops - {"openenv_miniwob_pages"} == {*stated.packages, stem}
    assert {f"{package}/py.typed" for package in stated.packages} <= names
    assert f"{stem}/licenses/LICENSE" in names
    about = email.message_from_bytes(zipfile.ZipFile(wheel).read(f"{stem}/METADATA"))
    assert about["License-Expression"] == "BSD-3-Clause"
    assert about["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in about.get_all("Classifier", [])
    assert about["Description-Content-Type"] == "text/markdown"
    assert about["Summary"]
    assert about.get_all("Project-URL")
    assert not [name for name in names if "__pycache__" in name or "_cache/" in name]


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_source_distribution_holds_what_builds_it(project: Path, distributions: Distributions) -> None:
    stated = read_distribution(project)
    stem = f"{stated.name.replace('-', '_')}-{stated.version}"
    with tarfile.open(distributions.folder / f"{stem}.tar.gz") as archive:
        names = {name.removeprefix(f"{stem}/") for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO"} <= names
    assert not [name for name in names if name.startswith(("tests/", ".git/", ".venv")) or "_cache/" in name]


def test_the_licence_is_the_same_everywhere() -> None:
    texts = {(project / "LICENSE").read_text() for project in PROJECTS}
    assert len(texts) == 1


def test_the_wheel_that_a_space_carries_is_the_one_that_is_built(distributions: Distributions, tmp_path: Path) -> None:
    built = zipfile.ZipFile(distributions.wheel("openenv-core"))
    ours = zipfile.ZipFile(write_core_wheel(tmp_path))
    made_by_tools = ("/RECORD", "/WHEEL")
    names = {name for name in built.namelist() if not name.endswith(made_by_tools)}
    assert {name for name in ours.namelist() if not name.endswith(made_by_tools)} == names
    [about] = [name for name in names if name.endswith("/METADATA")]
    assert [name for name in sorted(names - {about}) if built.read(name) != ours.read(name)] == []
    assert metadata(built.read(about)) == metadata(ours.read(about))
    assert "openenv_core/packaging/templates/project/.github/workflows/ci.yml" in names


def test_the_wheel_that_a_space_carries_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = write_core_wheel(tmp_path / "first"), write_core_wheel(tmp_path / "second")
    assert first.read_bytes() == second.read_bytes()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the version stands in, copied."""
    patterns = ("pyproject.toml", "*/*/pyproject.toml", "envs/*/openenv.yaml", "openenv_core/__init__.py")
    for pattern in (*patterns, "CHANGELOG.md", "scripts/set_version.py"):
        for path in REPOSITORY.glob(pattern):
            target = tmp_path / path.relative_to(REPOSITORY)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return tmp_path


def set_version(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the script of a checkout."""
    command = [sys.executable, str(folder / "scripts" / "set_version.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_versions_agree() -> None:
    done = set_version(REPOSITORY, "--check")
    assert done.returncode == 0, done.stdout


def test_versions_move_together(checkout: Path) -> None:
    assert set_version(checkout, "2.3.4").returncode == 0
    assert set_version(checkout, "--check").returncode == 0
    stated = [read_distribution(checkout / project.relative_to(REPOSITORY)) for project in PROJECTS]
    assert {each.version for each in stated} == {"2.3.4"}
    assert {each for project in stated for each in project.requires if "openenv-core" in each} == {
        "openenv-core>=2.3.4,<3",
        "openenv-core[cli,server]>=2.3.4,<3",
        "openenv-core[cli,images,server]>=2.3.4,<3",
    }
    assert '__version__ = "2.3.4"' in (checkout / "openenv_core/__init__.py").read_text()
    assert "\n## 2.3.4 (20" in (checkout / "CHANGELOG.md").read_text()


def test_a_version_that_is_none_changes_nothing(checkout: Path) -> None:
    before = (checkout / "pyproject.toml").read_text()
    done = set_version(checkout, "soon")
    assert done.returncode == 2
    assert "'soon' is no version" in done.stderr
    assert (checkout / "pyproject.toml").read_text() == before


def test_one_that_is_behind_is_found(checkout: Path) -> None:
    path = checkout / "clients/echo_env/pyproject.toml"
    path.write_text(path.read_text().replace("1.0.0.dev0", "0.9.0", 1))
    done = set_version(checkout, "--check")
    assert done.returncode == 1
    assert "clients/echo_env/pyproject.toml: 0.9.0, 1.0.0.dev0" in done.stdout
