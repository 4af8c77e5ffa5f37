"""A proxy that ends TLS and takes a prefix off the path, as those of laboratories and hosts do."""

import asyncio
import contextlib
import datetime
import ipaddress
import re
import ssl
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["behind_prefix_and_tls"]


@contextlib.contextmanager
def behind_prefix_and_tls(base_url: str, prefix: str, folder: Path) -> Iterator[str]:
    """The address below which a server is reached through the proxy, for the length of a ``with`` block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(folder))
    port = int(base_url.rpartition(":")[2])

    writers: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        both = {writer, server_writer}
        writers.update(both)
        try:
            await asyncio.gather(_pump(reader, server_writer, prefix), _pump(server_reader, writer, ""))
        except (OSError, asyncio.CancelledError):
            pass  # a side has hung up, or the test is over
        finally:
            _abort(both)
            writers.difference_update(both)

    starting = asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    server = asyncio.run_coroutine_threadsafe(starting, loop).result(10)
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}{prefix}"
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server, writers), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def _abort(writers: Iterable[asyncio.StreamWriter]) -> None:
    for writer in writers:
        writer.transport.abort()


async def _stop(server: asyncio.Server, writers: set[asyncio.StreamWriter]) -> None:
    server.close()
    _abort(writers)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for _ in range(5):
        await asyncio.sleep(0)  # transports end in the rounds of the loop after they were told to


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, prefix: str) -> None:
    """Pass on what comes. A browser's request without a body comes in one piece, and begins with its path; the name by
    which the proxy was called stays."""
    while data := await reader.read(64 * 1024):
        if prefix:
            data = re.sub(rb"\A(GET|POST|DELETE) %b" % re.escape(prefix.encode()), rb"\1 ", data)
        writer.write(data)
        await writer.drain()
    writer.close()


def _certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path
