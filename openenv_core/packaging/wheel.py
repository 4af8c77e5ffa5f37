"""The wheel of the framework as it is installed here, made anew: a Space carries it, since no public index has it."""

import base64
import hashlib
import importlib.metadata
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import openenv_core
from openenv_core.errors import ConfigurationError
from openenv_core.packaging.templating import is_source

__all__ = ["CORE", "core_wheel_name", "write_core_wheel"]

CORE = "openenv-core"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same files give the same wheel, byte for byte, so that pushing twice uploads nothing anew."""

_KEPT_METADATA = ("METADATA", "entry_points.txt", "licenses/LICENSE")
_WHEEL = "Wheel-Version: 1.0\nGenerator: openenv-core\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def core_wheel_name() -> str:
    """The file name of the wheel."""
    return f"openenv_core-{openenv_core.__version__}-py3-none-any.whl"


def write_core_wheel(folder: Path) -> Path:
    """Write the wheel into ``folder``. Needs no build tool and no network, and works from an editable install too.

    Raises:
        ConfigurationError: the installed metadata are not those of the code that runs.
    """
    try:
        version = importlib.metadata.version(CORE)
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    if version != openenv_core.__version__:
        raise ConfigurationError(
            f"this is openenv-core {openenv_core.__version__}, but its metadata are of version {version}: "
            "install it again"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / core_wheel_name()
    stem = f"openenv_core-{version}.dist-info"
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in [*_package_files(), *_metadata_files(stem)]:
            archive.writestr(_entry(name), data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
        archive.writestr(_entry(f"{stem}/RECORD"), "".join([*record, f"{stem}/RECORD,,\n"]))
    return path


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = 0o100644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _package_files() -> Iterator[tuple[str, bytes]]:
    root = Path(openenv_core.__file__).parent
    for path in sorted(root.rglob("*")):
        if is_source(path):
            yield f"openenv_core/{path.relative_to(root).as_posix()}", path.read_bytes()


def _metadata_files(stem: str) -> Iterator[tuple[str, bytes]]:
    installed = importlib.metadata.distribution(CORE)
    for name in _KEPT_METADATA:
        text = installed.read_text(name)
        if text is not None:
            yield f"{stem}/{name}", (_with_requirements(text) if name == "METADATA" else text).encode()
    yield f"{stem}/WHEEL", _WHEEL.encode()


def _with_requirements(metadata: str) -> str:
    """In a checkout: the requirements of its ``pyproject.toml``, which may be newer than the metadata that an editable
    install has left."""
    source = Path(openenv_core.__file__).parent.parent / "pyproject.toml"
    if not source.is_file():
        return metadata
    project = tomllib.loads(source.read_text(encoding="utf-8"))["project"]
    stated = [f"Requires-Dist: {each}" for each in project["dependencies"]]
    for extra, requirements in project["optional-dependencies"].items():
        stated += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {_for_extra(each, extra)}" for each in requirements)]
    head, blank, body = metadata.partition("\n\n")
    kept = [line for line in head.splitlines() if not line.startswith(("Requires-Dist:", "Provides-Extra:"))]
    return "\n".join([*kept, *stated]) + blank + body


def _for_extra(requirement: str, extra: str) -> str:
    plain, _, marker = requirement.partition(";")
    return f"{plain.strip()} ; {f'({marker.strip()}) and ' if marker else ''}extra == '{extra}'"
