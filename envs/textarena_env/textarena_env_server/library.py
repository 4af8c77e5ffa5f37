"""A private copy of the TextArena library.

TextArena's games draw from the process-wide ``random``, seed it, download word lists when they are imported and again
whenever one is built, and print solutions to standard output. Here their modules are executed once more, under an
import function of their own that hands them stand-ins: ``random`` draws from the session whose call is running,
``nltk`` reads the word lists of this package, the clients of remote services are missing, and ``print`` is silent. The
library as others in the process may import it is neither loaded nor changed.
"""

import builtins
import functools
import importlib.machinery
import importlib.util
import threading
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openenv_core.errors import ConfigurationError
from textarena_env_server import randomness, standins
from textarena_env_server.mends import mend

__all__ = ["Library", "library"]

_ROOT = "textarena"


def _silent(*_: Any, **__: Any) -> None:
    """In place of ``print``: games print what they hide, and standard output may carry a protocol."""


class Library:
    """The modules of TextArena, each executed once, when it is first asked for.

    Raises:
        ConfigurationError: TextArena is not installed.
    """

    def __init__(self) -> None:
        spec = importlib.util.find_spec(_ROOT)
        if spec is None or not spec.submodule_search_locations:
            raise ConfigurationError("TextArena is not installed; run: pip install 'textarena>=0.7.4,<0.8'")
        self.folder = Path(next(iter(spec.submodule_search_locations)))
        self._lock = threading.RLock()
        self._modules: dict[str, types.ModuleType] = {}
        self._standins = {
            "random": randomness.random_module,
            "numpy": randomness.numpy_module,
            **standins.makers(self.folder),
        }
        self._own_roots = {_ROOT, *(name.partition(".")[0] for name in self._standins)}
        self._builtins = {**vars(builtins), "__import__": self._import, "print": _silent}

    @functools.cached_property
    def registry(self) -> Mapping[str, Any]:
        """All games by id: TextArena's own table."""
        self.load("textarena.envs")
        table: Mapping[str, Any] = self.load("textarena.envs.registration").ENV_REGISTRY
        return table

    def load(self, name: str) -> types.ModuleType:
        """The private module of this name.

        Raises:
            ImportError: there is none, or it needs a package that is not installed.
            SyntaxError: it is written for a later Python.
        """
        with self._lock:
            if name not in self._modules:
                parent, _, child = name.rpartition(".")
                package = self.load(parent) if parent else None
                # The parent's own code may have loaded it by now.
                if name not in self._modules:
                    standin = self._standins.get(name)
                    module = self._modules[name] = standin() if standin is not None else self._execute(name)
                    if package is not None:
                        setattr(package, child, module)
            return self._modules[name]

    def _execute(self, name: str) -> types.ModuleType:
        path = self.folder.joinpath(*name.split(".")[1:])
        is_package = path.is_dir()
        file = path / "__init__.py" if is_package else path.with_suffix(".py")
        if name.partition(".")[0] != _ROOT or not (is_package or file.exists()):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = types.ModuleType(name)
        module.__dict__.update(
            __builtins__=self._builtins,
            __file__=str(file),
            __package__=name if is_package else name.rpartition(".")[0],
            __path__=[str(path)],
        )
        if file.exists():
            # Modules of the library import each other in circles: an unfinished one must be found.
            self._modules[name] = module
            try:
                code = importlib.machinery.SourceFileLoader(name, str(file)).get_code(name)
                exec(code, module.__dict__)  # type: ignore[arg-type]
                mend(module)
            except BaseException:
                del self._modules[name]
                raise
        return module

    def _import(
        self,
        name: str,
        scope: Mapping[str, Any] | None = None,
        variables: Mapping[str, Any] | None = None,
        names: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if level and scope is not None:
            name = importlib.util.resolve_name("." * level + name, scope["__package__"])
        root = name.partition(".")[0]
        if root not in self._own_roots:
            return builtins.__import__(name, scope, variables, names or (), 0)
        module = self.load(name)
        if not names:
            return self.load(root)
        for wanted in names:
            if wanted != "*" and not hasattr(module, wanted):
                self.load(f"{name}.{wanted}")
        return module


@functools.cache
def library() -> Library:
    """The copy that all sessions of this process share."""
    return Library()
