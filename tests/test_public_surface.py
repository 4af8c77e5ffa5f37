"""What can be imported is a list, and the list is true."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from tests.support.source import REPOSITORY, Module, source_modules

PACKAGES = [
    REPOSITORY / "openenv_core",
    REPOSITORY / "clients/echo_env/echo_env",
    REPOSITORY / "envs/echo_env/echo_env_server",
]
MODULES = [module for folder in PACKAGES for module in source_modules(folder)]
STATED = [module for module in MODULES if "__all__" in module.text and module.path.name != "__main__.py"]


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions: the order that ruff gives ``__all__``."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def imported(module: Module) -> list[str]:
    found = importlib.import_module(module.name)
    names: list[str] = found.__all__
    return names


def needs(module: Module) -> None:
    """Skip a module whose extra is not installed here."""
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in {"openenv_core", "echo_env", "echo_env_server"}:
            raise
        pytest.skip(f"{error.name} is not installed")


@pytest.mark.parametrize("module", STATED, ids=lambda m: m.name)
def test_all_is_sorted_and_every_name_in_it_exists(module: Module) -> None:
    needs(module)
    names = imported(module)
    assert names == sorted(set(names), key=order)
    found = importlib.import_module(module.name)
    assert [name for name in names if not hasattr(found, name)] == []


@pytest.mark.parametrize("module", [m for m in STATED if m.is_package], ids=lambda m: m.name)
def test_a_package_states_every_public_name_that_it_imports(module: Module) -> None:
    needs(module)
    here = {
        alias.asname or alias.name
        for node in module.tree.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == module.name.split(".")[0]
        for alias in node.names
    }
    assert {name for name in here if not name.startswith("_")} <= set(imported(module))


@pytest.mark.parametrize("module", [m for m in STATED if not m.is_package], ids=lambda m: m.name)
def test_a_module_states_every_public_class_and_function_that_others_import(module: Module) -> None:
    needs(module)
    found, stated = importlib.import_module(module.name), set(imported(module))
    wanted = set()
    for other in MODULES:
        for _, name in other.imports:
            owner, _, member = name.rpartition(".")
            if owner == module.name and other.name != module.name and not inspect.ismodule(getattr(found, member)):
                wanted.add(member)
    assert wanted - stated == set()


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: path.name)
def test_a_package_is_marked_as_typed(folder: Path) -> None:
    assert (folder / "py.typed").is_file()


def test_a_public_class_has_a_docstring_and_so_have_its_methods() -> None:
    core = importlib.import_module("openenv_core")
    bare = []
    for name in core.__all__:
        thing = getattr(core, name)
        if inspect.getdoc(thing) is None:
            bare.append(name)
        if inspect.isclass(thing):
            bare += [
                f"{name}.{method}"
                for method, value in vars(thing).items()
                if not method.startswith("_") and callable(value) and inspect.getdoc(getattr(thing, method)) is None
            ]
    assert bare == []


def test_a_name_that_does_not_exist_is_an_ordinary_attribute_error() -> None:
    core = importlib.import_module("openenv_core")
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        core.nothing_of_the_kind  # noqa: B018 - the look-up is the test
