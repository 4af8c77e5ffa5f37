"""Functions as the tools of a new environment: one method for each, with its signature and its docstring."""

import ast
import builtins
import importlib
import importlib.metadata
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from openenv_core.errors import ConfigurationError
from openenv_core.packaging.templating import template_text

__all__ = ["ToolSources", "tools_from"]

_PACKAGE = "acme_env_server"
_COMMON = ("typing", "collections.abc", "datetime", "decimal", "pathlib", "uuid")
_LONGEST_LINE = 100
Import = tuple[str, str]
"""A module, and the name that is imported from it; an empty name imports the module itself."""


@dataclass(frozen=True)
class ToolSources:
    """What becomes of functions.

    Attributes:
        description: of the environment, one line.
        replacements: texts of the template, with what stands there instead.
        files: modules of the user's own, which go into the server's package.
        requires: distributions that the functions come from.
    """

    description: str
    replacements: Mapping[str, str]
    files: Mapping[str, str]
    requires: tuple[str, ...]


def tools_from(paths: list[str]) -> ToolSources:
    """The tools that functions make, each named as ``module:function``.

    A function of an installed distribution is imported from there; a module of the user's own is copied.

    Raises:
        ConfigurationError: there is no such function, or it makes no tool; the message says why.
    """
    functions = [_function(path) for path in paths]
    files, homes, requires = _homes(functions)
    methods = [_method(function, homes[function.__module__]) for function in functions]
    template = template_text(f"tools/server/{_PACKAGE}/environment.py")
    start, end = template.index("from openenv_core.tools"), template.index("\n\n__all__")
    own = [*_OWN_IMPORTS, *(each for _, imports in methods for each in imports)]
    replacements = {
        template[start:end]: _import_block(own),
        template[template.index("    @tool\n") :]: "\n".join(text for text, _ in methods),
    }
    named = ", ".join(function.__name__ for function in functions)
    return ToolSources(f"Tools: {named}.", replacements, files, requires)


_OWN_IMPORTS: tuple[Import, ...] = (
    ("openenv_core.tools", "CallToolObservation"),
    ("openenv_core.tools", "EnvironmentWithTools"),
    ("openenv_core.tools", "tool"),
    ("openenv_core.types", "Observation"),
)


def _function(path: str) -> Callable[..., Any]:
    from openenv_core.targets import load_object

    found = load_object(path)
    if not inspect.isfunction(found) or found.__name__ == "<lambda>":
        raise ConfigurationError(f"function:{path} is a {type(found).__name__}, not a function written with def")
    parameters = inspect.signature(found).parameters.values()
    by_name = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    if any(each.kind not in by_name for each in parameters):
        raise ConfigurationError(f"function:{path}: a tool is called by names; it cannot have *args, **kwargs or a /")
    bare = [each.name for each in parameters if each.annotation is inspect.Parameter.empty]
    if bare:
        raise ConfigurationError(f"function:{path}: annotate {', '.join(bare)}; an agent must know what is wanted")
    return found


def _homes(functions: Iterable[Callable[..., Any]]) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
    """The modules to copy, by file name; the module from which each of the functions' is imported; requirements."""
    files: dict[str, str] = {}
    homes: dict[str, str] = {}
    requires: set[str] = set()
    for name in dict.fromkeys(function.__module__ for function in functions):
        root = name.partition(".")[0]
        requirement = _distribution_of(root)
        if requirement is not None:
            requires.add(requirement)
        if requirement is not None or root in sys.stdlib_module_names:
            homes[name] = name
            continue
        path = Path(inspect.getfile(sys.modules[name]))
        files[path.name] = path.read_text(encoding="utf-8")
        homes[name] = f"{_PACKAGE}.{path.stem}"
    return files, homes, tuple(sorted(requires))


def _distribution_of(root: str) -> str | None:
    """What an installed package requires to be there elsewhere, too; ``None`` for a module of the user's own."""
    found = importlib.metadata.packages_distributions().get(root)
    if not found or importlib.metadata.distribution(found[0]).read_text("direct_url.json"):
        return None
    return f"{found[0]}>={importlib.metadata.version(found[0])}"


def _method(function: Callable[..., Any], home: str) -> tuple[str, list[Import]]:
    """The source of a tool that calls ``function``, and what it imports."""
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef), "the source of a function is one"
    parameters, names, parts = _parameters(tree, source)
    returns = ast.get_source_segment(source, tree.returns) if tree.returns is not None else "Any"
    wait, call = ("async ", "await ") if isinstance(tree, ast.AsyncFunctionDef) else ("", "")
    alias = home.rpartition(".")[2]
    head = f"    {wait}def {function.__name__}(self{''.join(f', {each}' for each in parameters)}) -> {returns}:\n"
    if len(head) > _LONGEST_LINE:
        lines = "".join(f"        {each},\n" for each in ["self", *parameters])
        head = f"    {wait}def {function.__name__}(\n{lines}    ) -> {returns}:\n"
    given = ", ".join(f"{name}={name}" for name in names)
    body = f"        return {call}{alias}.{function.__name__}({given})\n"
    used = _names_in([*parts, tree.returns])
    if tree.returns is None:
        used.add("Any")
    module = sys.modules[function.__module__]
    imports = [_import_of(name, module, home) for name in sorted(used) if not hasattr(builtins, name)]
    parent = home.rpartition(".")[0]
    imports.append((parent, alias) if parent else (alias, ""))
    return f"    @tool\n{head}{_docstring(function)}{body}", imports


def _names_in(parts: Iterable[ast.expr | None]) -> set[str]:
    return {node.id for part in parts if part is not None for node in ast.walk(part) if isinstance(node, ast.Name)}


def _parameters(
    tree: ast.FunctionDef | ast.AsyncFunctionDef, source: str
) -> tuple[list[str], list[str], list[ast.expr | None]]:
    """The parameters as they stand in the source, their names, and the parts of them that hold names."""
    arguments = tree.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + [*arguments.defaults]
    pairs = [*zip(arguments.args, defaults, strict=True)]
    only = [*zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    written = [_parameter(each, default, source) for each, default in [*pairs, *only]]
    if only:
        written.insert(len(pairs), "*")
    names = [each.arg for each, _ in [*pairs, *only]]
    return written, names, [part for each, default in [*pairs, *only] for part in (each.annotation, default)]


def _parameter(argument: ast.arg, default: ast.expr | None, source: str) -> str:
    text = ast.get_source_segment(source, argument) or argument.arg
    return text if default is None else f"{text} = {ast.get_source_segment(source, default)}"


def _docstring(function: Callable[..., Any]) -> str:
    lines = (inspect.getdoc(function) or f"Call ``{function.__name__}``.").splitlines()
    indented = [lines[0], *(f"        {line}" if line else "" for line in lines[1:])]
    end = "\n        " if len(lines) > 1 else ""
    mark = 'r"""' if any("\\" in line for line in lines) else '"""'
    text = "\n".join(indented)
    return f'        {mark}{text}{end}"""\n'


def _import_of(name: str, module: ModuleType, home: str) -> Import:
    """The import of a name that a function's signature uses."""
    if not hasattr(module, name):
        return "typing", name
    value = getattr(module, name)
    for common in _COMMON:
        if getattr(importlib.import_module(common), name, None) is value:
            return common, name
    if inspect.ismodule(value) and value.__name__ == name:
        return name, ""
    return home, name


def _import_block(imports: Iterable[Import]) -> str:
    """Import statements, in the order that linters keep."""
    sections: dict[int, dict[str, set[str]]] = {0: {}, 1: {}, 2: {}}
    for module, name in imports:
        root = module.partition(".")[0]
        section = 0 if root in sys.stdlib_module_names else 2 if root in ("acme_env", _PACKAGE) else 1
        sections[section].setdefault(module, set()).add(name)
    blocks = []
    for modules in sections.values():
        plain = [f"import {module}" for module, names in sorted(modules.items()) if "" in names]
        named = [
            f"from {module} import {', '.join(sorted(names - {''}, key=_member_order))}"
            for module, names in sorted(modules.items())
            if names != {""}
        ]
        blocks.append("\n".join([*plain, *named]))
    return "\n\n".join(block for block in blocks if block)


def _member_order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)
