"""What becomes of sessions when the browser dies or hangs, and what is left of it: nothing."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.processes import source_path
from browsergym_env import BrowserGymAction
from browsergym_env_server import BrowserGymEnvironment
from browsergym_env_server.keeper import Keeper
from browsergym_env_server.pages import find_pages
from browsergym_env_server.settings import BrowserGymSettings
from openenv_core.backends import EnvironmentCrashedError
from tests.support.waiting import until

from .acting import act, own_browser, script
from .conftest import Run
from .processes import descendants, descriptors, kept_folders, parent, renderers, zombies

_LIMIT_S = 20.0


def _only(keeper: Keeper) -> int:
    (chromium,) = keeper.browsers
    return chromium.pid


def test_a_browser_that_dies_takes_its_sessions_along_and_nothing_else(run: Run) -> None:
    async def main() -> None:
        before = kept_folders()
        async with own_browser() as (keeper, open_session):
            busy, idle = open_session(), open_session()
            await busy.reset(seed=1)
            await idle.reset(seed=1)
            acting = asyncio.create_task(act(busy, "noop(9000)"))
            await asyncio.sleep(0)
            os.kill(_only(keeper), signal.SIGKILL)
            async with asyncio.timeout(_LIMIT_S):
                with pytest.raises(EnvironmentCrashedError):
                    await acting
                with pytest.raises(EnvironmentCrashedError):
                    await act(idle, "click('13')")
            for session in (busy, idle):
                await session.close()
            fresh = open_session()
            await fresh.reset(seed=1)
            assert (await act(fresh, "click('13')")).reward == 1.0
            assert zombies(os.getpid()) == set()
        assert kept_folders() <= before

    run(main())


@pytest.mark.parametrize("whose", ["driver", "page"])
def test_other_deaths_are_noticed_too(run: Run, whose: str) -> None:
    async def main() -> None:
        async with own_browser() as (keeper, open_session):
            struck, other = open_session(), open_session()
            await struck.reset(seed=1)
            before = renderers(os.getpid())
            await other.reset(seed=1)
            if whose == "driver":
                os.kill(parent(_only(keeper)), signal.SIGKILL)
            else:
                for pid in renderers(os.getpid()) & before:
                    os.kill(pid, signal.SIGKILL)
            async with asyncio.timeout(_LIMIT_S):
                with pytest.raises(EnvironmentCrashedError):
                    await act(struck, "noop(100)", "noop(100)", "noop(100)")
            if whose == "page":
                assert (await act(other, "click('13')")).reward == 1.0
            await struck.close()
            fresh = open_session()
            await fresh.reset(seed=1)
            assert (await act(fresh, "click('13')")).reward == 1.0

    run(main())


def test_a_page_that_hangs_costs_its_own_session_only(run: Run) -> None:
    async def main() -> None:
        async with own_browser(replace(BrowserGymSettings(), page_timeout_ms=1500)) as (keeper, open_session):
            hanging, other = open_session(), open_session()
            await other.reset(seed=1)
            alone = renderers(_only(keeper))
            await hanging.reset(seed=1)
            await script(hanging, "setTimeout(() => { for (;;); }, 20)")
            acting = asyncio.create_task(act(hanging, "click('13')"))
            assert (await act(other, "noop(50)", "hover('13')", "click('13')")).reward == 1.0
            async with asyncio.timeout(_LIMIT_S):
                with pytest.raises(EnvironmentCrashedError, match="not answered"):
                    await acting
                await hanging.close()
            await until(lambda: renderers(_only(keeper)) <= alone)
            await other.reset(seed=2)
            assert (await act(other, "click('13')")).reward == 1.0

    run(main())


def test_a_page_that_hung_is_replaced_at_reset(run: Run) -> None:
    async def main() -> None:
        async with own_browser() as (_, open_session):
            session = open_session()
            await session.reset(seed=1)
            await script(session, "setTimeout(() => { for (;;); }, 20)")
            async with asyncio.timeout(_LIMIT_S):
                await session.reset(seed=1)
            assert (await act(session, "click('13')")).reward == 1.0

    run(main())


def test_a_slow_page_does_not_delay_the_others(run: Run) -> None:
    async def main() -> None:
        async with own_browser() as (_, open_session):
            slow, quick = open_session(), open_session()
            await slow.reset(seed=1)
            await quick.reset(seed=1)
            body = "setTimeout(() => { const end = performance.now() + 2500; while (performance.now() < end); }, 20)"
            await script(slow, body)
            acting = asyncio.create_task(act(slow, "noop(100)", "click('13')"))
            assert (await act(quick, "hover('13')", "click('13')")).reward == 1.0
            assert not acting.done()
            assert (await acting).reward == 1.0

    run(main())


def test_a_reset_that_fails_is_tried_again(run: Run) -> None:
    """The pages are elsewhere, at a server that hangs up on the first request that it gets."""
    requests: list[str] = []
    pages = find_pages(None)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append((await reader.readuntil(b"\r\n\r\n")).split()[1].decode())
        asset = pages.read(requests[-1].lstrip("/"))
        if asset is not None and len(requests) > 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(asset.body) + asset.body)
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/miniwob/"
        async with server, own_browser(replace(BrowserGymSettings(), pages_url=url)) as (keeper, open_session):
            session = open_session()
            seen = await session.reset(seed=1)
            assert requests[:2] == ["/miniwob/click-test.html"] * 2
            assert (seen.goal, seen.url) == ("Click the button.", f"{url}click-test.html")
            assert (await act(session, "click('13')")).reward == 1.0
            await session.close()
            await until(lambda: not renderers(_only(keeper)))

    run(main())


def test_a_browser_is_replaced_after_so_many_sessions(run: Run) -> None:
    async def main() -> None:
        async with own_browser(replace(BrowserGymSettings(), recycle_after=2)) as (keeper, open_session):
            sessions = [open_session() for _ in range(3)]
            for session in sessions:
                await session.reset(seed=1)
            assert len(keeper.browsers) == 2
            assert (await act(sessions[0], "click('13')")).reward == 1.0
            for session in sessions[:2]:
                await session.close()
            await until(lambda: len(keeper.browsers) == 1)
            assert (await act(sessions[2], "click('13')")).reward == 1.0

    run(main())


def test_a_browser_that_nobody_uses_ends(run: Run) -> None:
    async def main() -> None:
        before = descendants(os.getpid()), kept_folders()
        async with own_browser(replace(BrowserGymSettings(), linger_s=0.05)) as (keeper, open_session):
            session = open_session()
            await session.reset(seed=1)
            assert len(keeper.browsers) == 1
            await session.close()
            await until(lambda: not keeper.browsers and descendants(os.getpid()) <= before[0])
            assert kept_folders() <= before[1]
            await session.reset(seed=1)
            assert (await act(session, "click('13')")).reward == 1.0

    run(main())


def test_the_end_of_the_loop_ends_the_browser(installed_browser: str) -> None:
    before = descendants(os.getpid()), kept_folders()

    async def main() -> None:
        await BrowserGymEnvironment(BrowserGymSettings(browser=installed_browser)).reset(seed=1)

    asyncio.run(main())
    asyncio.run(until(lambda: descendants(os.getpid()) <= before[0] and kept_folders() <= before[1]))


@pytest.mark.parametrize(
    "sessions", [10, pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(600)])], ids=str
)
def test_sessions_leave_nothing_behind(run: Run, sessions: int) -> None:
    async def main() -> None:
        async with own_browser() as (keeper, open_session):
            first = open_session()
            await first.reset(seed=0)
            start = len(descendants(os.getpid())), kept_folders()
            files = descriptors(os.getpid()), descriptors(_only(keeper))
            for batch in range(0, sessions, 5):
                opened = [open_session() for _ in range(5)]
                await asyncio.gather(*(session.reset(seed=batch) for session in opened))
                await asyncio.gather(*(_play(session, index) for index, session in enumerate(opened)))
                await asyncio.gather(*(session.close() for session in opened))
            await first.reset(seed=1)
            await until(lambda: len(descendants(os.getpid())) <= start[0])
            assert kept_folders() <= start[1]
            assert zombies(os.getpid()) == set()
            # Connections that the browser keeps alive for a while account for a few.
            assert descriptors(os.getpid()) <= files[0] + 10
            assert descriptors(_only(keeper)) <= files[1] + 10

    run(main())


async def _play(session: BrowserGymEnvironment, index: int) -> None:
    """End, leave, open tabs: what sessions do before they are closed."""
    actions = ("click('13')", "new_tab()", "mouse_down(5, 5)", "goto('about:blank')", "noop(0)")
    await session.step(BrowserGymAction(action_str=actions[index]))


def test_the_sandbox_is_on_or_the_log_says_why_not(installed_browser: str) -> None:
    variables = {"PYTHONPATH": source_path(), "PATH": os.environ["PATH"], "BROWSERGYM_BROWSER": installed_browser}
    command = [sys.executable, "-B", "-c", _SANDBOX_PROGRAM]
    # As another user where this one is root, for whom there is no sandbox; where the other may read all that it needs.
    others: list[dict[str, Any]] = [{"user": 65534, "group": 65534, "extra_groups": []}] if os.geteuid() == 0 else []
    for other in [*others, {}]:
        try:
            ended = subprocess.run(
                command, env=variables, capture_output=True, text=True, timeout=25, check=False, **other
            )
        except PermissionError:
            continue
        if ended.returncode == 0:
            break
    assert ended.stdout.split() in (["True", "True"], ["False", "False"]), ended.stderr
    assert ("without its own sandbox" in ended.stderr) is (ended.stdout.split()[0] == "False")


_SANDBOX_PROGRAM = """
import asyncio
from pathlib import Path
from browsergym_env_server import BrowserGymEnvironment

async def main():
    environment = BrowserGymEnvironment()
    await environment.reset(seed=1)
    (chromium,) = environment._keeper.browsers
    print(chromium.is_sandboxed, "--no-sandbox" not in Path(f"/proc/{chromium.pid}/cmdline").read_text())
    await environment.close()

asyncio.run(main())
"""
