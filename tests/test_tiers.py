"""The shape of the framework: imports go down the tiers, every module is tested, files and functions stay small."""

import re
from collections.abc import Iterator

import pytest

from tests.support.source import REPOSITORY, Module, nesting, own_length, source_modules

CORE = source_modules(REPOSITORY / "openenv_core")

TIERS = {
    "openenv_core.errors": 0,
    "openenv_core.extras": 0,
    "openenv_core.types": 0,
    "openenv_core.settings": 0,
    "openenv_core.environment": 1,
    "openenv_core.sampling": 1,
    "openenv_core.targets": 1,
    "openenv_core.wire": 1,
    "openenv_core.sessions": 1,
    "openenv_core.sessions.building": 2,
    "openenv_core.sessions.session": 2,
    "openenv_core.sessions.manager": 2,
    "openenv_core.backends": 1,
    "openenv_core.rewards": 1,
    "openenv_core.recording": 1,
    "openenv_core.rendering": 1,
    "openenv_core.tools": 1,
    "openenv_core.runtimes": 2,
    "openenv_core.server": 3,
    "openenv_core.client": 3,
    "openenv_core.adapters": 4,
    "openenv_core.training": 4,
    "openenv_core.conformance": 4,
    "openenv_core.packaging": 4,
    "openenv_core.cli": 5,
}
"""A module belongs to the tier of the longest name here that it starts with."""

APART = {
    "openenv_core.wire": ("openenv_core.sessions", "openenv_core.server", "openenv_core.client"),
    "openenv_core.client": ("openenv_core.server", "openenv_core.sessions", "openenv_core.backends"),
    "openenv_core.server": ("openenv_core.client",),
    "openenv_core.sessions": ("openenv_core.wire",),
}
"""What must not know each other although the tiers would allow it: the wire is both ends' common ground, a client is
installed without a server, and a session does not know by which protocol it is spoken to."""

MAX_LINES, MAX_FUNCTION_LINES, MAX_NESTING = 400, 40, 4
EXCUSE = re.compile(r"(longer|deeper) than \d+ (lines|levels)", re.IGNORECASE)
"""A file that goes past the budget gives its reason in words that hold this."""

TESTED_ELSEWHERE = {
    "openenv_core.adapters": "tests/adapters: what they adapt to is installed there",
    "openenv_core.backends.link": "tests/process: worker processes are tried as processes",
    "openenv_core.backends.parcels": "tests/process: worker processes are tried as processes",
    "openenv_core.backends.pool": "tests/process: worker processes are tried as processes",
    "openenv_core.backends.process": "tests/process: with the tests of the session layer, and killed at any moment",
    "openenv_core.backends.worker": "tests/process: worker processes are tried as processes",
    "openenv_core.backends.worker_process": "tests/process: worker processes are tried as processes",
    "openenv_core.cli": "tests/cli, tests/process: commands are run as commands",
    "openenv_core.conformance": "tests/conformance: the checks are run on environments, good and broken",
    "openenv_core.packaging": "tests/packaging: projects are made, checked, built and pushed there",
    "openenv_core.recording": "tests/recording: it is tried on real disks, by real servers, and killed while it writes",
    "openenv_core.runtimes": "tests/containers, tests/process: they start processes and containers",
    "openenv_core.server.playground": "tests/playground: a page is tried in a browser",
    "openenv_core.server.watch": "tests/recording: what is watched is what is recorded",
    "openenv_core.server.runner": "tests/process: it runs a whole process; all server tests here use its transport",
    "openenv_core.training": "tests/training: it is run by a trainer",
}


def tier_of(name: str) -> int | None:
    """The tier of a module, or of something in one; ``None`` for what is not the framework's or has no tier."""
    parts = name.split(".")
    return next((TIERS[key] for end in range(len(parts), 0, -1) if (key := ".".join(parts[:end])) in TIERS), None)


def framework_imports(module: Module) -> Iterator[tuple[int, str]]:
    for line, name in module.imports:
        # The version is a fact about all tiers and lives where packagers look for it.
        if name.startswith("openenv_core.") and name != "openenv_core.__version__":
            yield line, name


def test_every_module_has_a_tier() -> None:
    assert [module.name for module in CORE if module.name != "openenv_core" and tier_of(module.name) is None] == []


@pytest.mark.parametrize("module", [m for m in CORE if m.name != "openenv_core"], ids=lambda m: m.name)
def test_imports_go_down(module: Module) -> None:
    own = tier_of(module.name)
    assert own is not None
    upward = []
    for line, name in framework_imports(module):
        tier = tier_of(name)
        assert tier is not None, f"{module.path}:{line} imports {name}, which has no tier"
        if tier > own:
            upward.append(f"{module.path}:{line} (tier {own}) imports {name} (tier {tier})")
    assert upward == []


@pytest.mark.parametrize("package", APART)
def test_what_must_not_know_each_other(package: str) -> None:
    inside = [module for module in CORE if module.name == package or module.name.startswith(f"{package}.")]
    assert inside
    forbidden = [
        f"{module.path}:{line} imports {name}"
        for module in inside
        for line, name in framework_imports(module)
        if name.startswith(tuple(f"{other}." for other in APART[package]))
    ]
    assert forbidden == []


def test_the_check_of_imports_sees_every_way_to_import() -> None:
    path = REPOSITORY / "openenv_core" / "wire" / "invented.py"
    module = Module("openenv_core.wire.invented", path)
    module.__dict__["text"] = (
        "import openenv_core.server.app\n"
        "from openenv_core import cli\n"
        "def later():\n    from openenv_core.sessions.manager import SessionManager\n"
    )
    tiers = [tier_of(name) for _, name in framework_imports(module)]
    assert tiers == [3, 5, 2]


def needs_a_test(module: Module) -> bool:
    """Whether there is something to test: a package that only collects names is the public-surface test's affair."""
    elsewhere = any(module.name == name or module.name.startswith(f"{name}.") for name in TESTED_ELSEWHERE)
    return not elsewhere and not module.is_package


@pytest.mark.parametrize("module", [m for m in CORE if needs_a_test(m)], ids=lambda m: m.name)
def test_every_module_has_its_test_file(module: Module) -> None:
    relative = module.path.relative_to(REPOSITORY / "openenv_core")
    expected = REPOSITORY / "tests" / "unit" / relative.parent / f"test_{relative.stem.lstrip('_')}.py"
    twins = [expected, expected.with_name(f"test_{relative.stem}.py")]
    assert any(path.is_file() for path in twins), f"{module.name} has no {expected.relative_to(REPOSITORY)}"


@pytest.mark.parametrize("name", TESTED_ELSEWHERE)
def test_what_is_tested_elsewhere_is_tested_there(name: str) -> None:
    folders = TESTED_ELSEWHERE[name].partition(":")[0].split(", ")
    assert all(list((REPOSITORY / folder).rglob("test_*.py")) for folder in folders)
    inside = any(module.name == name or module.name.startswith(f"{name}.") for module in CORE)
    assert inside or name == "openenv_core.server.playground"


SOURCES = [
    *CORE,
    *(module for folder in sorted(REPOSITORY.glob("clients/*/*/")) for module in source_modules(folder)),
    *(module for folder in sorted(REPOSITORY.glob("envs/*/*_server/")) for module in source_modules(folder)),
]


@pytest.mark.parametrize("module", SOURCES, ids=lambda m: m.name)
def test_files_and_functions_stay_small(module: Module) -> None:
    over = []
    lines = module.text.count("\n")
    if lines > MAX_LINES:
        over.append(f"{module.path} has {lines} lines")
    for function in module.functions():
        where = f"{module.path}:{function.lineno} {function.name}"
        if (length := own_length(function)) > MAX_FUNCTION_LINES:
            over.append(f"{where} has {length} lines")
        if (depth := nesting(function)) > MAX_NESTING:
            over.append(f"{where} is nested {depth} deep")
    if EXCUSE.search(module.text) is None:
        assert over == []
    else:
        assert over, f"{module.path} excuses a length that it does not have"
