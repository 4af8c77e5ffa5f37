"""What an import costs, in fresh processes."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

from benchmarks.processes import REPOSITORY, peer_python, source_path

__all__ = ["memory", "time_taken"]

_PROBE = """
import time
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
pages, start = resident(), time.perf_counter()
{statement}
print(time.perf_counter() - start, resident() - pages)
"""

_STATEMENTS = {"ours": "import echo_env", "peer": "import benchmarks.peer_echo"}
"""Both bring a typed client of the echo environment; the public package's begins with ``import openenv.core``."""


def time_taken(name: str) -> Callable[[], float]:
    """A measure: seconds of the import."""
    return lambda: _probe(name)[0]


def memory(name: str) -> Callable[[], float]:
    """A measure: bytes of resident memory that the import adds to bare Python."""
    return lambda: _probe(name)[1]


def _probe(name: str) -> tuple[float, float]:
    python, path = (str(peer_python()), str(REPOSITORY)) if name == "peer" else (sys.executable, source_path())
    command = [python, "-c", _PROBE.format(statement=_STATEMENTS[name])]
    output = subprocess.run(
        command, check=True, capture_output=True, timeout=120, env={**os.environ, "PYTHONPATH": path}, cwd=_elsewhere()
    ).stdout.split()
    return float(output[0]), float(output[1]) * os.sysconf("SC_PAGESIZE")


def _elsewhere() -> str:
    # The folder of the command line comes first on the path of `python -c`: a place without packages keeps both equal.
    return tempfile.gettempdir()
