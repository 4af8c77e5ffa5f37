"""The extras of the framework: which part of it each brings, and what to say where one is not installed."""

from typing import Final

__all__ = ["MODULES", "install_hint", "needs_extra", "why_missing"]

MODULES: Final = {
    "server": ("fastapi", "httptools", "jinja2", "markdown_it", "prometheus_client", "starlette", "uvicorn", "uvloop"),
    "cli": ("click", "jsonschema", "packaging", "rich", "typer", "yaml"),
    "hub": ("huggingface_hub", "pathspec", "tomlkit"),
    "images": ("numpy", "PIL"),
    "mcp": ("mcp",),
    "export": ("pyarrow",),
    "docker": ("docker",),
    "gymnasium": ("gymnasium",),
    "training": ("accelerate", "datasets", "torch", "transformers", "trl"),
}
"""The modules that an extra brings, those that come along with what it names included."""


def install_hint(extra: str) -> str:
    """What to type for an extra. A server and the command are of little use without each other."""
    wanted = "server,cli" if extra in ("server", "cli") else extra
    return f"pip install 'openenv-core[{wanted}]', or in its repository: pip install '.[{wanted}]'"


def needs_extra(what: str, extra: str) -> str:
    """The sentence for something that an extra is needed for.

    Args:
        what: its subject and verb: ``"pushing needs"``, ``"containers need"``.
        extra: by its name.
    """
    return f"{what} the extra `{extra}`: {install_hint(extra)}"


def why_missing(error: ImportError) -> str | None:
    """What to install for a module that is not there; ``None`` where it is of no extra, or is there and broken."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return None
    root = error.name.partition(".")[0]
    extra = next((name for name, modules in MODULES.items() if root in modules), None)
    return None if extra is None else f"{root} is not installed; {needs_extra('it comes with', extra)}"
