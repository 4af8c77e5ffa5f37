"""What several commands have in common: options of the form KEY=VALUE, and how a command ends."""

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import threading

__all__ = ["endings", "key_and_value"]

_INTERRUPTED = 130


@contextlib.contextmanager
def endings() -> Iterator[None]:
    """However the command ends, what it has started ends with it: a closed terminal unwinds it like Ctrl-C does."""
    import signal
    import sys
    import threading

    heard = threading.Event()

    def end(number: int, frame: Any) -> None:
        heard.set()
        signal.signal(number, signal.SIG_IGN)  # once is enough: another one must not end the tidying up
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)
    try:
        with _insisting(heard):
            yield
    except KeyboardInterrupt:
        print("\nGoodbye.")
        sys.exit(_INTERRUPTED)


@contextlib.contextmanager
def _insisting(heard: "threading.Event") -> Iterator[None]:
    """Repeat a signal until its handler has run.

    One that comes in the moment before the line editor begins to wait for a key would be heard at the next key only.
    """
    import os
    import signal
    import threading

    if not hasattr(signal, "pthread_kill"):
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def insist() -> None:
        number = os.read(reading, 1)
        while number and not heard.wait(0.1):
            signal.pthread_kill(threading.main_thread().ident or 0, number[0])

    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    thread = threading.Thread(target=insist, name="openenv-signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        heard.set()
        os.close(writing)
        thread.join()
        os.close(reading)


def key_and_value(text: str) -> tuple[str, Any]:
    """What ``KEY=VALUE`` says; the value is read as JSON where it is JSON, else as text."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise typer.BadParameter(f"{text!r}: write KEY=VALUE, for example game_name=catch", param_hint="--option")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
