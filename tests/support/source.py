"""The framework's source as trees: which modules there are, what they import, how long and deep they are."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["REPOSITORY", "Module", "nesting", "own_length", "source_modules"]

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Module:
    """One file of source.

    Attributes:
        name: dotted; a package goes by its own name, not ``__init__``.
        path: the file.
    """

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        """The source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The source, parsed."""
        return ast.parse(self.text, str(self.path))

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__`` of a package."""
        return self.path.name == "__init__.py"

    @cached_property
    def imports(self) -> list[tuple[int, str]]:
        """Line and dotted name of everything that is imported, wherever in the file; ``from a import b`` is ``a.b``."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [(node.lineno, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name}, line {node.lineno}: a relative import"
                found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        return found

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All functions and methods, nested ones too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def source_modules(folder: Path) -> list[Module]:
    """The modules of a package, itself included; not the files of a template, which are another program's."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        if "templates" in path.relative_to(folder).parts:
            continue
        parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
        found.append(Module(".".join(part for part in parts if part != "__init__"), path))
    return found


def own_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function, without its decorators and its docstring."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        length -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return length


_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


def nesting(node: ast.AST, depth: int = 0) -> int:
    """How deep the blocks of a function stand in each other; ``elif`` counts as the ``if`` it belongs to, and a
    function inside it starts anew."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
        deepest = max(deepest, nesting(child, depth + (isinstance(child, _BLOCKS) and not is_elif)))
    return deepest
