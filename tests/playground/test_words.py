"""What the page says of an environment: its README, its fields, programs that use it."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest
from pydantic import TypeAdapter

from echo_env_server import spec as echo
from openenv_core.server.playground.fields import fields_of
from openenv_core.server.playground.readme import found_readme, markdown_html
from openenv_core.server.playground.snippets import snippets_of
from openenv_core.targets import installed

from .worlds import Everything, Kinds, Seen


def test_nothing_that_runs_gets_out_of_a_readme() -> None:
    html = markdown_html(
        "# Title\n\n<script>alert(1)</script> <b onclick=x>\n\n[a](javascript:alert(1)) [b](data:text/html,x) "
        "[c](../other.md) [d](https://example.org) [e](#title)\n\n```\n<img src=x>\n```\n\n| a |\n|---|\n| 1 |"
    )
    assert "<script" not in html
    assert "<b onclick" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert "<a>c</a>" in html
    assert '<a href="https://example.org" rel="noopener noreferrer" target="_blank">d</a>' in html
    assert '<a href="#title">e</a>' in html
    assert html.startswith("<h3>Title</h3>")
    assert "<table" in html


def test_a_readme_is_found_where_there_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    entry: EntryPoint = installed()["echo_env"]
    monkeypatch.delenv("ENV_README_PATH", raising=False)
    assert found_readme("---\nsdk: docker\n---\n# Told", entry, Kinds) == "# Told"
    assert found_readme(None, entry, Kinds).startswith("# Echo environment")
    assert found_readme(None, None, Kinds) == "Says what it understood."
    (tmp_path / "README.md").write_text("# From a file")
    monkeypatch.setenv("ENV_README_PATH", str(tmp_path / "README.md"))
    assert found_readme(None, entry, Kinds) == "# From a file"


def test_fields_are_told_in_words() -> None:
    told = {field.name: field for field in fields_of(Everything.model_json_schema())}
    assert {
        name: told[name].kind for name in ("name", "count", "share", "colour", "sure", "tags", "move", "limit")
    } == {
        "name": "text",
        "count": "whole number ≥ 1, ≤ 5",
        "share": "number > 0, ≤ 1",
        "colour": "one of red, green",
        "sure": "true or false",
        "tags": "list of text",
        "move": "object",
        "limit": "whole number ≥ 0 or nothing",
    }
    assert told["name"].meaning == "a text, told of in the docstring alone."
    assert (told["even"].default, told["even"].required, told["name"].required) == ("2", False, True)
    [picture] = [field for field in fields_of(Seen.model_json_schema()) if field.name == "picture"]
    assert picture.kind == "picture (PNG) or nothing"


def test_a_union_s_fields_are_those_of_its_members() -> None:
    schema = TypeAdapter(Seen | Everything).json_schema()
    assert {"hook", "colour"} <= {field.name for field in fields_of(schema)}


def test_programs_send_the_token_and_leave_out_what_is_not_there() -> None:
    shown = snippets_of(echo, "https://x.test/lab", {"message": "it's"}, asks_token=True, has_http=False)
    assert [snippet.title for snippet in shown] == ["Python", "Python, async", "Training with TRL"]
    for snippet in shown:
        compile(snippet.code, snippet.title, "exec")
        assert 'token=os.environ["OPENENV_TOKEN"]' in snippet.code
    with_curl = snippets_of(echo, "https://x.test", {"message": "it's"}, asks_token=True, has_http=True)[2].code
    assert with_curl.count("authorization: Bearer $OPENENV_TOKEN") == 3
    assert "it'\\''s" in with_curl


def test_an_environment_without_a_client_of_its_own_is_used_by_the_generic_one() -> None:
    python, awaiting = snippets_of(None, "http://x.test", {"a": 1}, asks_token=False, has_http=False)
    assert "from openenv_core import GenericEnvClient" in python.code
    assert "env.step({'a': 1})" in python.code
    compile(awaiting.code, "awaiting", "exec")
