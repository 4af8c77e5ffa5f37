"""A Hugging Face Hub of our own, as far as ``huggingface_hub``, git and pip ask one for a Space."""

import base64
import hashlib
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["TOKEN", "FakeHub", "fake_hub"]

TOKEN = "hf_" + "fake" * 9
_FRESH = {"README.md": b"---\nsdk: docker\n---\n", ".gitattributes": b"*.bin filter=lfs\n"}


@dataclass
class FakeSpace:
    """One Space.

    Attributes:
        files: what is in its repository.
        visibility: as it was asked for.
        sdk: as it was asked for.
        variables, secrets: as they were set.
        hardware: as it was requested last.
        commits: the summaries.
        by_lfs: names of the files that came over LFS.
    """

    files: dict[str, bytes] = field(default_factory=lambda: dict(_FRESH))
    visibility: str | None = None
    sdk: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    hardware: str | None = None
    commits: list[str] = field(default_factory=list)
    by_lfs: set[str] = field(default_factory=set)


class FakeHub:
    """The Hub's state, and what it answers.

    Attributes:
        url: its address.
        spaces: by ``owner/name``.
        refuse: status with which it answers, by a pattern of ``METHOD path``.
        asked: all requests, as ``METHOD path``.
    """

    def __init__(self, folder: Path) -> None:
        self.url = ""
        self.spaces: dict[str, FakeSpace] = {}
        self.refuse: dict[str, int] = {}
        self.asked: list[str] = []
        self._folder = folder
        self._blobs: dict[str, bytes] = {}

    def answer(self, method: str, path: str, body: bytes, token: str | None) -> tuple[int, Any]:
        """Status and content of an answer: bytes as they are, anything else as JSON."""
        asked = f"{method} {path}"
        self.asked.append(asked)
        for pattern, status in self.refuse.items():
            if re.search(pattern, asked):
                return status, {"error": f"{HTTPStatus(status).phrase} it is"}
        for pattern, handler in _ROUTES.items():
            found = re.fullmatch(pattern, asked)
            if found is None:
                continue
            if "/api/" in asked and token != TOKEN:
                return 401, {"error": "Invalid username or password."}
            if "space" in found.groupdict() and found["space"] not in self.spaces:
                return 404, {"error": "Repository not found"}
            return getattr(self, handler)(body, **found.groupdict())  # type: ignore[no-any-return]
        return 404, {"error": f"no route for {asked}"}

    def whoami(self, body: bytes) -> tuple[int, Any]:
        """Whose token it is."""
        return 200, {"type": "user", "name": "ada", "orgs": [], "auth": {"accessToken": {"role": "write"}}}

    def create(self, body: bytes) -> tuple[int, Any]:
        """A new repository."""
        wanted = json.loads(body)
        repo_id = f"{wanted['organization'] or 'ada'}/{wanted['name']}"
        if repo_id in self.spaces:
            return 409, {"error": "You already created this space repo", "url": f"{self.url}/spaces/{repo_id}"}
        self.spaces[repo_id] = FakeSpace(visibility=wanted.get("visibility"), sdk=wanted["sdk"])
        return 200, {"url": f"{self.url}/spaces/{repo_id}", "name": repo_id}

    def tree(self, body: bytes, space: str) -> tuple[int, Any]:
        """All files."""
        files = self.spaces[space].files
        return 200, [
            {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
            for name, data in files.items()
        ]

    def info(self, body: bytes, space: str) -> tuple[int, Any]:
        """That it is there."""
        return 200, {"id": space, "sha": "0" * 40, "private": False, "tags": [], "siblings": []}

    def card(self, body: bytes) -> tuple[int, Any]:
        """What the Hub thinks of a README: it wants a title and an SDK that it knows."""
        content = json.loads(body)["content"]
        faults = [
            {"message": f"{key} is missing"} for key in ("title:", "sdk: docker", "app_port:") if key not in content
        ]
        return (400 if faults else 200), {"errors": faults, "warnings": []}

    def preupload(self, body: bytes, space: str) -> tuple[int, Any]:
        """How each file is to come; what is no text comes over LFS."""
        files = [
            {
                "path": one["path"],
                "uploadMode": "lfs" if b"\0" in base64.b64decode(one["sample"]) else "regular",
                "shouldIgnore": False,
            }
            for one in json.loads(body)["files"]
        ]
        return 200, {"files": files}

    def batch(self, body: bytes, space: str) -> tuple[int, Any]:
        """Where LFS files go."""
        objects = [
            {**one, "actions": {"upload": {"href": f"{self.url}/lfs/{one['oid']}", "header": {}}}}
            for one in json.loads(body)["objects"]
        ]
        return 200, {"transfer": "basic", "objects": objects}

    def blob(self, body: bytes, oid: str) -> tuple[int, Any]:
        """An LFS file."""
        if hashlib.sha256(body).hexdigest() != oid:
            return 400, {"error": "not what was announced"}
        self._blobs[oid] = body
        return 200, {}

    def commit(self, body: bytes, space: str) -> tuple[int, Any]:
        """A commit, in the Hub's lines of JSON."""
        found = self.spaces[space]
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                found.commits.append(value["summary"])
            elif line["key"] == "file":
                found.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                found.files[value["path"]] = self._blobs[value["oid"]]
                found.by_lfs.add(value["path"])
            elif line["key"] == "deletedFile":
                del found.files[value["path"]]
        oid = f"{len(found.commits):040x}"
        return 200, {"commitUrl": f"{self.url}/spaces/{space}/commit/{oid}", "commitOid": oid, "pullRequestUrl": None}

    def variable(self, body: bytes, space: str, kind: str) -> tuple[int, Any]:
        """A variable or a secret."""
        pair = json.loads(body)
        getattr(self.spaces[space], kind)[pair["key"]] = pair["value"]
        return 200, {pair["key"]: {"key": pair["key"], "value": pair["value"]}}

    def hardware(self, body: bytes, space: str) -> tuple[int, Any]:
        """What it runs on."""
        self.spaces[space].hardware = json.loads(body)["flavor"]
        return 200, {"stage": "BUILDING", "hardware": {"current": None, "requested": self.spaces[space].hardware}}

    def resolve(self, body: bytes, space: str, name: str) -> tuple[int, Any]:
        """One file, LFS or not."""
        data = self.spaces[space].files.get(unquote(name))
        return (200, data) if data is not None else (404, {"error": "Entry not found"})

    def git(self, body: bytes, space: str, name: str) -> tuple[int, Any]:
        """The repository for git's plain HTTP protocol, in which a server only hands out files."""
        path = self._repository(space) / name
        return (200, path.read_bytes()) if path.is_file() else (404, b"")

    def _repository(self, space: str) -> Path:
        work = self._folder / space.replace("/", "-") / str(len(self.spaces[space].commits))
        if not work.exists():
            for name, data in self.spaces[space].files.items():
                path = work / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            author = ("-c", "user.name=hub", "-c", "user.email=hub@localhost", "-c", "commit.gpgsign=false")
            for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*author, "commit", "-qm", "x"]):
                # A repository's own attributes ask for git-lfs, which need not be installed here.
                no_lfs = ("-c", "filter.lfs.clean=cat", "-c", "filter.lfs.required=false")
                subprocess.run(["git", *no_lfs, *words], cwd=work, check=True, capture_output=True, timeout=60)
            subprocess.run(["git", "update-server-info"], cwd=work, check=True, timeout=60)
        return work / ".git"


_SPACE = r"(?P<space>[\w.-]+/[\w.-]+)"
_ROUTES = {
    "GET /api/whoami-v2": "whoami",
    "POST /api/repos/create": "create",
    "POST /api/validate-yaml": "card",
    f"GET /api/spaces/{_SPACE}": "info",
    f"GET /api/spaces/{_SPACE}/tree/main": "tree",
    f"POST /api/spaces/{_SPACE}/preupload/main": "preupload",
    f"POST /api/spaces/{_SPACE}/commit/main": "commit",
    f"POST /api/spaces/{_SPACE}/(?P<kind>variables|secrets)": "variable",
    f"POST /api/spaces/{_SPACE}/hardware": "hardware",
    rf"POST /spaces/{_SPACE}\.git/info/lfs/objects/batch": "batch",
    r"PUT /lfs/(?P<oid>[0-9a-f]{64})": "blob",
    f"GET /spaces/{_SPACE}/resolve/(?:main|[0-9a-f]{{40}})/(?P<name>.+)": "resolve",
    f"GET /spaces/{_SPACE}/(?P<name>HEAD|info/refs|objects/.+)": "git",
}


@contextmanager
def fake_hub(folder: Path) -> Iterator[FakeHub]:
    """A Hub that listens on loopback while the block runs. ``folder`` is for its repositories."""
    hub = FakeHub(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            token = (self.headers.get("authorization") or "").removeprefix("Bearer ") or None
            status, content = hub.answer(self.command, urlsplit(self.path).path, body, token)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            kind = "application/octet-stream" if isinstance(content, bytes) else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            if status >= 400 and isinstance(content, dict):
                self.send_header("X-Error-Message", str(content.get("error", "")))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_POST = do_PUT = do_HEAD = do_GET

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
