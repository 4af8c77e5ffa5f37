"""What a page tries to reach, it does not reach: a server that waits for any sign of it hears nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from browsergym_env_server import BrowserGymEnvironment
from browsergym_env_server.keeper import Keeper
from browsergym_env_server.origins import Origin
from browsergym_env_server.settings import BrowserGymSettings

from .acting import act, script
from .conftest import Run


@dataclass
class Canary:
    """A server outside, on a TCP and a UDP port of the same number; it answers, and keeps what it hears."""

    port: int
    heard: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, canary: Canary) -> None:
        self._canary = canary

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._canary.heard.append(data)


@asynccontextmanager
async def _canary() -> AsyncIterator[Canary]:
    canary = Canary(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        canary.heard.append(await reader.read(1000))
        writer.write(b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    canary.port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    datagrams, _ = await loop.create_datagram_endpoint(
        lambda: _Datagrams(canary), local_addr=("127.0.0.1", canary.port)
    )
    try:
        async with server:
            yield canary
    finally:
        datagrams.close()
        await asyncio.sleep(0)  # the socket itself is closed in the next round of the loop


_ATTEMPT_LIMIT_S = 20.0

# What a page can do to reach out; `C` is the canary's address, `H` its host and port.
_TRIES = {
    "fetch": "await fetch(C, { mode: 'no-cors' }).catch(() => 0)",
    "request": "await new Promise((end) => { const r = new XMLHttpRequest(); r.open('GET', C);"
    " r.onloadend = end; r.send() })",
    "by name": "await fetch(C.replace('127.0.0.1', 'localhost'), { mode: 'no-cors' }).catch(() => 0)",
    "over IPv6": "await fetch(C.replace('127.0.0.1', '[::1]'), { mode: 'no-cors' }).catch(() => 0)",
    "picture": "await new Promise((end) => { const i = new Image(); i.onload = i.onerror = end; i.src = C })",
    "script": "add('script', { src: C })",
    "style": "add('link', { rel: 'stylesheet', href: C }); add('style', { textContent: `@import '${C}/import'` })",
    "frame": "add('iframe', { src: C })",
    "object": "add('object', { data: C }); add('embed', { src: C })",
    "hints": "const kinds = 'prefetch preconnect dns-prefetch preload modulepreload icon manifest';"
    "for (const rel of kinds.split(' ')) add('link', { rel, href: C, as: 'script' })",
    "speculation": "add('script', { type: 'speculationrules', textContent:"
    " JSON.stringify({ prefetch: [{ source: 'list', urls: [C] }], prerender: [{ source: 'list', urls: [C] }] }) })",
    "socket": "await new Promise((end) => { const s = new WebSocket(`ws://${H}`); s.onopen = s.onerror = end })",
    "events": "await new Promise((end) => { const s = new EventSource(C); s.onopen = s.onerror = end })",
    "beacon": "navigator.sendBeacon(C, 'x')",
    "ping": "const a = add('a', { href: '#', ping: C }); a.click()",
    "worker": "try { new Worker(URL.createObjectURL(new Blob([`fetch('${C}')`]))) } catch {}",
    "shared worker": "try { new SharedWorker(URL.createObjectURL(new Blob([`fetch('${C}')`]))) } catch {}",
    "service worker": "await navigator.serviceWorker.register('/core/core.js').catch(() => 0);"
    "await fetch(C, { mode: 'no-cors' }).catch(() => 0)",
    "form": "add('iframe', { name: 'there' });add('form', { action: C, method: 'post', target: 'there' }).submit()",
    "window": "window.open(C)",
    "WebRTC": "const p = new RTCPeerConnection({ iceServers: [{ urls: `stun:${H}` },"
    " { urls: [`turn:${H}?transport=udp`, `turn:${H}?transport=tcp`], username: 'a', credential: 'b' }] });"
    "p.createDataChannel('x'); await p.setLocalDescription(await p.createOffer())",
    "WebTransport": "try { await new WebTransport(C.replace('http:', 'https:')).ready } catch {}",
}


def test_pages_reach_nobody(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        async with _canary() as canary:
            await environment.reset(seed=1)
            for number, attempt in enumerate(_TRIES.values()):
                # Each attempt is named in the address, so that what is heard tells whose it is.
                words = (
                    f"const C = '{canary.url}/{number}', H = '127.0.0.1:{canary.port}';"
                    "const add = (tag, properties) => {"
                    " const element = Object.assign(document.createElement(tag), properties);"
                    " document.body.append(element); return element };"
                )
                await asyncio.wait_for(_attempt(environment, words + attempt), _ATTEMPT_LIMIT_S)
            assert environment._workspace is not None
            await environment._workspace.bring_to_front(0)
            await script(environment, "await new Promise((end) => setTimeout(end, 1500))")
            assert canary.heard == []

    run(main())


async def _attempt(environment: BrowserGymEnvironment, body: str) -> None:
    page = environment._task_page
    assert page is not None
    await page.evaluate(f"async () => {{ {body} }}")


@pytest.mark.parametrize("kind", ["data", "blob"])
def test_documents_without_an_origin_do_not_run(run: Run, environment: BrowserGymEnvironment, kind: str) -> None:
    async def main() -> None:
        await environment.reset(seed=1)
        source = (
            "`data:text/html,${page}`"
            if kind == "data"
            else "URL.createObjectURL(new Blob([page], {type: 'text/html'}))"
        )
        body = (
            "let ran = false; addEventListener('message', () => { ran = true });"
            "const page = '<script>parent.postMessage(1, \"*\")</' + 'script>';"
            f"const frame = document.createElement('iframe'); frame.src = {source}; document.body.append(frame);"
            "await new Promise((end) => setTimeout(end, 300)); return ran"
        )
        assert await script(environment, body) is False

    run(main())


_ADDRESSES = (
    *("{canary}/x", "http://localhost:{port}/", "http://[::1]:{port}/", "http://2130706433:{port}/"),
    *("http://miniwob.localhost@127.0.0.1:{port}/", "http:/127.0.0.1:{port}/", "http:\\\\127.0.0.1:{port}/"),
    *("http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "FILE:///etc/passwd", " file:///etc/passwd"),
    *("\\tfile:///etc/passwd", "fi\\nle:///etc/passwd", "view-source:file:///etc/passwd", "data:text/html,hi"),
    *("javascript:location='{canary}'", "chrome://version", "about:srcdoc", "blob:http://miniwob.localhost/1"),
    *("ws://127.0.0.1:{port}/", "//127.0.0.1:{port}/", "127.0.0.1:{port}", "localhost:{port}"),
)


def test_actions_go_nowhere_else(run: Run, environment: BrowserGymEnvironment) -> None:
    async def main() -> None:
        async with _canary() as canary:
            await environment.reset(seed=1, observe=["axtree"])
            for address in _ADDRESSES:
                target = address.format(canary=canary.url, port=canary.port)
                seen = await act(environment, f'goto("{target}")')
                assert seen.error, address
                assert not seen.done, address
                assert seen.url == "http://miniwob.localhost/miniwob/click-test.html"
                assert "root:" not in seen.text, address
            assert (await act(environment, "click('13')")).reward == 1.0
            assert canary.heard == []

    run(main())


def test_a_redirect_leads_no_further(run: Run) -> None:
    async def main() -> None:
        async with _canary() as canary:
            reached: list[bytes] = []

            async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                reached.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(f"HTTP/1.1 302 Found\r\nLocation: {canary.url}\r\nContent-Length: 0\r\n\r\n".encode())
                writer.close()

            server = await asyncio.start_server(redirect, "127.0.0.1", 0)
            origin = Origin("http", "127.0.0.1", server.sockets[0].getsockname()[1])
            settings = replace(BrowserGymSettings(), allowed_origins=(origin,))
            async with server:
                # A loop has one keeper, and with it one set of origins: this one needs another.
                keeper = Keeper(settings)
                environment = BrowserGymEnvironment(settings)
                environment._keeper = keeper
                try:
                    await environment.reset(seed=1)
                    await script(environment, f"await fetch('{origin}', {{ mode: 'no-cors' }}).catch(() => 0)")
                    seen = await act(environment, f"goto('{origin}/')")
                    assert seen.done
                    assert (seen.text, seen.reward) == ("", 0.0)
                    assert keeper.refused >= 2
                    assert len(reached) >= 2
                finally:
                    await environment.close()
                    await keeper.close()
            assert canary.heard == []

    run(main())
