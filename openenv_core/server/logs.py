"""The server's log: text on a terminal, JSON elsewhere; nothing secret in it, nothing that steers a terminal."""

import json
import logging
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

__all__ = ["JsonFormatter", "Redactor", "TextFormatter", "configure_logging", "harmless", "secrets_of"]

_FIELDS = ("session", "episode", "error_id", "caller")
"""What a record may carry by ``extra``, and a line tells where it is there."""

_SECRET_NAME = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)$", re.IGNORECASE)
_CREDENTIAL = re.compile(r"\b(Bearer|Basic)(\s+)[A-Za-z0-9\-._~+/]{4,}=*", re.IGNORECASE)
_SHORTEST_SECRET = 6
"""A shorter value of a variable is too common a word to be taken out of every line."""

# Everything that moves a cursor, starts an escape sequence, breaks a line or turns the direction of writing.
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_HARMLESS = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CONTROLS}
_HARMLESS |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
_HARMLESS_LINES = {code: text for code, text in _HARMLESS.items() if code not in (ord("\n"), ord("\t"))}


def harmless(text: str) -> str:
    """The text on one line, with its control characters spelled out."""
    return text.translate(_HARMLESS)


def secrets_of(environ: Mapping[str, str]) -> list[str]:
    """The values of environment variables whose names say that they are secret."""
    return [
        value for name, value in environ.items() if _SECRET_NAME.search(name) and len(value.strip()) >= _SHORTEST_SECRET
    ]


class Redactor:
    """Takes secrets out of a text: those that it is told, and whatever follows ``Bearer`` and ``Basic``."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # The longest first: a secret may be part of another.
        self._secrets = sorted({secret.strip() for secret in secrets if secret.strip()}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "[redacted]")
        return _CREDENTIAL.sub(r"\1\2[redacted]", text)


class TextFormatter(logging.Formatter):
    """A line for people. A traceback is indented below its line, so that no text in it can pass for a line."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redact = redact

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        unsaid = "".join(f" {name}={value}" for name, value in _told(record).items() if str(value) not in line)
        return harmless(self._redact(line + unsaid))

    def formatException(self, ei: Any) -> str:
        return self._below(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return self._below(super().formatStack(stack_info))

    def _below(self, text: str) -> str:
        return textwrap.indent(self._redact(text).translate(_HARMLESS_LINES), "    ", lambda line: True)


class JsonFormatter(logging.Formatter):
    """A line of JSON for machines: ``time`` (UTC, ISO 8601), ``level``, ``logger``, ``message``, what else is known."""

    def __init__(self, redact: Redactor) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        line |= {name: self._redact(str(value)) for name, value in _told(record).items()}
        if record.exc_info:
            line["exception"] = self._redact(self.formatException(record.exc_info))
        # ASCII only: every control character of any kind is then an escape.
        return json.dumps(line, ensure_ascii=True)


def _told(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name in _FIELDS if (value := getattr(record, name, None)) is not None}


def configure_logging(level: str, log_format: str, *, token: str = "", stream: TextIO | None = None) -> None:
    """Send the log of the whole process to standard error.

    Args:
        level: ``debug``, ``info``, ``warning`` or ``error``.
        log_format: ``text``, ``json``, or ``auto``: text where the stream is a terminal.
        token: the server's own secret, beside those that the environment variables tell.
        stream: another stream than standard error.
    """
    stream = sys.stderr if stream is None else stream
    redact = Redactor([token, *secrets_of(os.environ)])
    as_text = log_format == "text" or (log_format == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter(redact) if as_text else JsonFormatter(redact))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
