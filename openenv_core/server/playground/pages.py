"""The routes of the page: the document, its files, and the frame in which an author's HTML is shown."""

import asyncio
import base64
import functools
import gzip
import hashlib
import re
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment as Templates
from jinja2 import FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from openenv_core.environment import EnvironmentSpec, class_of_factory
from openenv_core.rendering import Showing, hooks_of
from openenv_core.server.doorkeeper import Doorkeeper
from openenv_core.server.gateway import Gateway
from openenv_core.server.playground.about import About, about_of, example_action, reset_schema
from openenv_core.server.playground.assets import Assets
from openenv_core.server.playground.snippets import snippets_of
from openenv_core.server.playground.socket import PageSocketDoor
from openenv_core.server.playground.views import Views
from openenv_core.settings import ServerSettings

__all__ = ["PageDoor"]

_HERE: Final = Path(__file__).parent
_FOREVER: Final = "private, max-age=31536000, immutable"

_NOSNIFF: Final = {"X-Content-Type-Options": "nosniff"}
_PACKED: Final = {"Content-Encoding": "gzip"}

_HUB: Final = "https://huggingface.co"
"""A Space is shown inside a page of the Hub."""

_FRAME_SCRIPT: Final = """
addEventListener("message", (event) => {
  if (event.source === parent && typeof event.data === "string") document.body.innerHTML = event.data;
});
new ResizeObserver(() => parent.postMessage({height: document.documentElement.offsetHeight}, "*"))
  .observe(document.documentElement);
parent.postMessage({ready: true}, "*");
"""
_FRAME: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>view</title>'
    "<style>body{margin:8px;font:16px system-ui,sans-serif}</style>"
    f"</head><body></body><script>{_FRAME_SCRIPT}</script></html>"
)
_FRAME_HASH: Final = base64.b64encode(hashlib.sha256(_FRAME_SCRIPT.encode()).digest()).decode("ascii")


class PageDoor:
    """The page of one server.

    Args:
        gateway: the server.
        factory: makes the environments; asked for its class only.
        spec: what is installed, where that is known.
        doorkeeper: knows who may watch.
        has_http: the routes ``/reset`` and ``/step`` are there.

    Attributes:
        socket: what answers at ``/web/ws``.
    """

    def __init__(
        self,
        gateway: Gateway,
        factory: Any,
        spec: EnvironmentSpec | None,
        doorkeeper: Doorkeeper,
        *,
        has_http: bool,
    ) -> None:
        self._gateway = gateway
        self._has_http = has_http
        self._factory = factory
        self._spec = spec
        self._doorkeeper = doorkeeper
        hooks = hooks_of(class_of_factory(factory), *((spec.render, spec.actions) if spec is not None else ()))
        gateway.showing = Showing(hooks, gateway.types.observation)
        self.socket = PageSocketDoor(gateway, Views(gateway.showing, gateway.schema()["action"]))
        self._about: asyncio.Task[About] | None = None

    @property
    def routes(self) -> list[Route]:
        """What the application is given. Addresses are relative wherever one is sent to a browser: a proxy may have
        put the server anywhere."""
        return [
            Route("/", self.to_page, include_in_schema=False),
            Route("/web", self.to_page, include_in_schema=False),
            Route("/web/", self.page, include_in_schema=False),
            Route("/web/frame", self.frame, include_in_schema=False),
            Route("/web/static/{version}/{name}", self.file, include_in_schema=False),
        ]

    async def to_page(self, request: Request) -> Response:
        """Lead to the page."""
        # Relative, for neither the scheme nor the prefix outside is known for sure.
        return Response(status_code=307, headers={"Location": f"{_prefix(request)}web/"})

    async def page(self, request: Request) -> Response:
        """The document. Whoever reads it without scripts reads all of it."""
        if self._about is None or (self._about.done() and self._about.cancelled()):
            self._about = asyncio.ensure_future(about_of(self._gateway, self._factory, self._spec))
        about = await asyncio.shield(self._about)
        example = example_action(self._gateway, self._spec)
        base_url = _base_url(request, self._gateway.settings)
        asks_token = bool(self._gateway.settings.token)
        html = _template().render(
            about=about,
            snippets=snippets_of(self._spec, base_url, example, asks_token=asks_token, has_http=self._has_http),
            version=_assets().version,
            scripts=_assets().scripts(),
            config={
                "name": about.name,
                "base": base_url,
                "action": self._gateway.schema()["action"],
                "reset": reset_schema(class_of_factory(self._factory)),
                "example": example,
                "options": dict(self._spec.page_options or {}) if self._spec is not None else {},
                "hints": self._spec.example_action if self._spec is not None else None,
                "operator": self._doorkeeper.administers(request.scope),
                "token": asks_token,
            },
        )
        headers = {"Cache-Control": "no-cache", **_NOSNIFF, **self._headers()}
        packed = _packs(request)
        content = gzip.compress(html.encode(), 6) if packed else html.encode()
        return Response(content, media_type="text/html", headers={**headers, **(_PACKED if packed else {})})

    async def frame(self, request: Request) -> Response:
        """An empty document that fills itself with the HTML that the page sends it. It has no origin, runs nothing but
        its own few lines, and loads nothing."""
        policy = (
            f"sandbox allow-scripts; default-src 'none'; script-src 'sha256-{_FRAME_HASH}'; "
            "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'self'"
        )
        headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache", **_NOSNIFF}
        return Response(_FRAME, media_type="text/html", headers=headers)

    async def file(self, request: Request) -> Response:
        """A file of the page."""
        assets = _assets()
        found = assets.find(request.path_params["name"])
        if found is None:
            return Response("there is no such file", status_code=404, media_type="text/plain")
        packs = _packs(request)
        is_current = request.path_params["version"] == assets.version
        headers = {
            "Cache-Control": _FOREVER if is_current else "no-cache",
            "Vary": "Accept-Encoding",
            **_NOSNIFF,
            **(_PACKED if packs else {}),
        }
        content = found.packed if packs else found.content
        return Response(content, media_type=found.media_type, headers=headers)

    def _headers(self) -> dict[str, str]:
        ancestors = f"'self' {_HUB}" if self._gateway.settings.public_host else "'self'"
        return {
            "Content-Security-Policy": (
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
                "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
                f"frame-ancestors {ancestors}"
            ),
            "Referrer-Policy": "no-referrer",
        }


def _prefix(request: Request) -> str:
    """What a proxy has put before the server's own paths, where it says so."""
    given = str(request.scope.get("root_path") or request.headers.get("x-forwarded-prefix", "")).rstrip("/")
    return f"{given}/" if re.fullmatch(r"(?:/[\w.~-]+)+", given) else ""


def _packs(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _base_url(request: Request, settings: ServerSettings) -> str:
    """Where this server is, as far as it can tell; a page with scripts knows better."""
    if settings.public_host:
        return f"https://{settings.public_host}"
    return f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}"


@functools.cache
def _assets() -> Assets:
    return Assets(_HERE / "static")


@functools.cache
def _template() -> Any:
    templates = Templates(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.policies["json.dumps_kwargs"] = {"sort_keys": False}  # the order of fields is the author's
    return templates.get_template("page.html")
