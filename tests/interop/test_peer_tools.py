"""The public package's client of tools at our server: what it sees at its own server, it sees at ours."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import StartServer

pytestmark = [pytest.mark.interop, pytest.mark.timeout(240)]

_PLAYER = Path(__file__).parent / "peer_tools_player.py"


def played(peer: Path, url: str) -> Any:
    done = subprocess.run(
        [str(peer), str(_PLAYER), url], capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tools_of_ours_look_like_tools_of_theirs(peer: Path, our_server: StartServer, peer_server: StartServer) -> None:
    ours = played(peer, our_server("tests.interop.toy_ours_tools:app").base_url)
    assert ours == played(peer, peer_server("tests.interop.toy_peer_tools:app").base_url)
    assert ours[2] == ["add", 5]
