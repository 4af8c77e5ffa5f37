import base64
import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openenv_core.server.logs import (
    JsonFormatter,
    Redactor,
    TextFormatter,
    configure_logging,
    harmless,
    secrets_of,
)

CANARY = "canary-4f6c1d"


def record(message: str, *, error: BaseException | None = None, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("openenv_core.x", logging.ERROR, __file__, 1, message, (), None)
    if error is not None:
        made.exc_info = (type(error), error, error.__traceback__)
    made.__dict__.update(extra)
    return made


def raised(text: str) -> ValueError:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


@pytest.mark.parametrize("kind", [TextFormatter, JsonFormatter])
@given(text=st.text())
def test_a_record_is_one_line_without_control_characters(kind: Any, text: str) -> None:
    line = kind(Redactor([])).format(record(text))
    assert line.isprintable() or not any(
        unprintable < " " or "\x7f" <= unprintable < "\xa0" or unprintable in "\u2028\u2029\u202e"
        for unprintable in line
    )
    assert len(line.splitlines()) == 1


def test_escape_sequences_and_line_breaks_are_spelled_out() -> None:
    assert harmless("\x1b[31mred\r\n\tx\x9b\u202e") == "\\x1b[31mred\\r\\n\\tx\\x9b\\u202e"


def test_no_text_of_an_exception_passes_for_a_line_of_the_log() -> None:
    formatter = TextFormatter(Redactor([]))
    lines = formatter.format(record("it failed", error=raised("x\n2026-01-01 INFO forged\x1b[2J"))).splitlines()
    assert "it failed" in lines[0]
    assert all(line.startswith("    ") for line in lines[1:])
    assert any("forged\\x1b[2J" in line for line in lines[1:])


@pytest.mark.parametrize("kind", [TextFormatter, JsonFormatter])
def test_a_secret_is_in_no_part_of_a_line(kind: Any) -> None:
    formatter = kind(Redactor([CANARY]))
    line = formatter.format(record(f"token {CANARY}", error=raised(f"a {CANARY} b"), caller=f"c{CANARY}"))
    assert CANARY not in line
    assert "[redacted]" in line


@pytest.mark.parametrize(
    "header",
    [f"Authorization: Bearer {CANARY}", f"bearer  {CANARY}=", "Basic " + base64.b64encode(CANARY.encode()).decode()],
)
def test_whatever_follows_bearer_and_basic_is_a_secret(header: str) -> None:
    text = Redactor([])(f"got {header}, refused")
    assert header.split()[-1] not in text
    assert text.endswith("[redacted], refused")


def test_a_secret_that_is_part_of_another_leaves_no_rest_behind() -> None:
    assert Redactor(["secret", "secret-and-more"])("secret-and-more secret") == "[redacted] [redacted]"


def test_variables_with_secret_names_hold_secrets() -> None:
    environ = {"HF_TOKEN": "hf_123456", "OPENAI_API_KEY": "sk-123456", "DB_PASSWORD": "pw", "TOKENIZER": "abcdefgh"}
    assert secrets_of(environ) == ["hf_123456", "sk-123456"]


def test_json_tells_session_and_episode() -> None:
    line = json.loads(JsonFormatter(Redactor([])).format(record("ended", session="s1", episode="e1", unrelated="x")))
    assert (line["level"], line["logger"], line["message"]) == ("error", "openenv_core.x", "ended")
    assert (line["session"], line["episode"]) == ("s1", "e1")
    assert "unrelated" not in line
    assert line["time"].endswith("+00:00")


def test_text_tells_what_the_message_has_not_said_already() -> None:
    line = TextFormatter(Redactor([])).format(record("session s1 ended", session="s1", episode="e1"))
    assert line.endswith("session s1 ended episode=e1")


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("log_format", "stream", "is_json"),
    [
        ("auto", io.StringIO, True),
        ("auto", Terminal, False),
        ("text", io.StringIO, False),
        ("json", Terminal, True),
    ],
)
def test_the_form_suits_the_reader(root_logger: logging.Logger, log_format: str, stream: Any, is_json: bool) -> None:
    out = stream()
    configure_logging("info", log_format, token=CANARY, stream=out)
    logging.getLogger("openenv_core").info("hello %s", CANARY)
    logging.getLogger("openenv_core").debug("too much")
    line = out.getvalue()
    assert line.startswith("{") is is_json
    assert line.count("\n") == 1
    assert "hello [redacted]" in line


def test_the_log_goes_to_standard_error(root_logger: logging.Logger) -> None:
    configure_logging("warning", "text")
    assert [handler.stream for handler in root_logger.handlers if isinstance(handler, logging.StreamHandler)] == [
        sys.stderr
    ]
