"""Validating a project or a server: what can be read, what can be loaded, the image, and what it promises."""

import importlib
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from openenv_core.errors import ConfigurationError, OpenEnvError
from openenv_core.packaging.findings import Finding, Severity
from openenv_core.packaging.inspection import inspect_project
from openenv_core.packaging.project import Project, source_folder

__all__ = ["Options", "validate_project", "validate_server"]

Options = dict[str, Any]
"""Of :func:`openenv_core.conformance.check`."""


def validate_project(
    project: Project,
    options: Options,
    *,
    build: Callable[[Project], str] | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Iterator[Finding]:
    """Validate a project, bit by bit.

    Args:
        project: what is validated.
        options: of the conformance checks.
        build: builds its image and returns the image's name; without it the image is not built.
        report: is told what takes long.
    """
    yield from inspect_project(project)
    why = _why_not_installed(project)
    if why is None:
        yield from _loaded(project)
        report("checking what it promises ...")
        yield from _conformance("promise", project.name, options)
    else:
        yield Finding("package.installed", Severity.SKIP, why)
    if build is None:
        yield Finding("image.build", Severity.SKIP, "not asked for, or no engine is here: --image")
        return
    report("building the image ...")
    try:
        image = build(project)
    except OpenEnvError as error:
        yield Finding("image.build", Severity.ERROR, error.message, "What the build wrote is above")
        return
    yield Finding("image.build", Severity.OK, image)
    report("starting the image ...")
    yield from _image(image, options)


def validate_server(url: str, options: Options) -> Iterator[Finding]:
    """Validate a running server over its protocol."""
    import httpx

    headers = {"authorization": f"Bearer {options['token']}"} if options.get("token") else {}
    for name, path in (("server.health", "/health"), ("server.metadata", "/metadata"), ("server.schema", "/schema")):
        try:
            answer = httpx.get(f"{url.rstrip('/')}{path}", headers=headers, timeout=options.get("timeout_s", 60.0))
        except httpx.HTTPError as error:
            raise ConfigurationError(f"{url} does not answer: {error}") from error
        good = answer.status_code == 200
        severity = Severity.OK if good else Severity.ERROR
        remedy = "" if good else "Is it the server's own address, and is it ready?"
        yield Finding(name, severity, f"GET {path}: {answer.status_code}", remedy)
    yield from _conformance("promise", url, options)


def _why_not_installed(project: Project) -> str | None:
    """Why what is installed here is not this project; ``None`` where it is."""
    for part in (project.client, project.server):
        try:
            folder = source_folder(distribution(part.name))
        except PackageNotFoundError:
            return (
                f"{part.name} is not installed here: pip install -e {project.client.folder} -e {project.server.folder}"
            )
        if folder != part.folder:
            return f"{part.name} is installed from elsewhere, not from {part.folder}"
    return None


def _loaded(project: Project) -> Iterator[Finding]:
    from openenv_core.targets import load_object, load_spec

    try:
        spec = load_spec(project.name)
        client: Any = load_object(spec.client)
        load_object(project.manifest.app)
    except ConfigurationError as error:
        yield Finding("package.loads", Severity.ERROR, error.message, "Correct what does not import")
        return
    yield Finding("package.loads", Severity.OK, f"{spec.client}, {project.manifest.app}")
    models = importlib.import_module(spec.client.partition(":")[0])
    for name, kind in ((project.manifest.action, "action"), (project.manifest.observation, "observation")):
        if name is not None and getattr(models, name, None) != getattr(client, f"{kind}_type"):
            message = f"{name} is not the {kind} of {spec.client}"
            yield Finding(f"manifest.{kind}", Severity.ERROR, message, "Name the model that the client has")


def _conformance(area: str, target: str, options: Options) -> Iterator[Finding]:
    from openenv_core import conformance
    from openenv_core.conformance.report import Verdict

    severities = {Verdict.PASS: Severity.OK, Verdict.FAIL: Severity.ERROR, Verdict.SKIP: Severity.SKIP}
    try:
        report = conformance.check(target, **options)
    except OpenEnvError as error:
        yield Finding(area, Severity.ERROR, f"{target} cannot be checked: {error.message}", "openenv check --verbose")
        return
    for result in report.results:
        yield Finding(f"{area}.{result.name}", severities[result.verdict], result.reason)


def _image(image: str, options: Options) -> Iterator[Finding]:
    from openenv_core.runtimes import DockerRuntime

    try:
        with DockerRuntime(image) as runtime:
            yield Finding("image.start", Severity.OK, f"{image} is ready")
            yield from _conformance("image", runtime.base_url, options)
    except OpenEnvError as error:
        yield Finding("image.start", Severity.ERROR, error.message, "The end of its log is above")
