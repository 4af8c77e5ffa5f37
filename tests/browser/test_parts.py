"""The parts that need no browser: seeds, tasks, texts of trees and pages, verdicts, addresses."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from browsergym_env_server import axtree, markup
from browsergym_env_server.episode import GOES_ON, Rules, judge
from browsergym_env_server.origins import Origin, is_allowed_address
from browsergym_env_server.pages import find_pages
from browsergym_env_server.seeding import LARGEST_SEED, page_seed
from browsergym_env_server.tab import Look, Verdict
from browsergym_env_server.tasks import MINIWOB_TASKS, resolve_task
from openenv_core.errors import ValidationFailedError

from .recordings import seeding

# Seeds


@given(st.integers(0, LARGEST_SEED))
def test_page_seeds_are_numpys_first_draw(seed: int) -> None:
    assert page_seed(seed) == numpy.random.RandomState(seed).randint(0, 1_000_000)


def test_page_seeds_are_browsergyms() -> None:
    recorded = [(int(seed), drawn) for seed, _, drawn in seeding()["page_seeds"] if drawn and seed.isdigit()]
    assert len(recorded) > 2
    assert [page_seed(seed) for seed, _ in recorded] == [drawn for _, drawn in recorded]


@pytest.mark.parametrize("seed", [-1, LARGEST_SEED + 1])
def test_other_seeds_are_refused(seed: int) -> None:
    with pytest.raises(ValidationFailedError, match=r"between 0 and 2\*\*32 - 1"):
        page_seed(seed)


# Tasks


def test_every_task_has_a_page() -> None:
    assert len(MINIWOB_TASKS) == len(set(MINIWOB_TASKS)) == 125
    assert set(MINIWOB_TASKS) <= set(find_pages(None).task_names())


def test_tasks_are_known_by_their_longer_names_too() -> None:
    assert resolve_task("miniwob.click-test") == resolve_task("browsergym/miniwob.click-test") == "click-test"


def test_an_unknown_task_is_refused_with_names_close_to_it() -> None:
    with pytest.raises(ValidationFailedError, match="click-button") as refused:
        resolve_task("click-buton")
    assert "click-button" in refused.value.details["close"]
    assert len(refused.value.details["known"]) == 125
    with pytest.raises(ValidationFailedError, match="there are 125"):
        resolve_task("zzz")


# Trees


def _node(number: str, role: str, name: str | None = None, *children: str, **more: Any) -> dict[str, Any]:
    named = {} if name is None else {"name": {"value": name}}
    return {"nodeId": number, "role": {"value": role}, "childIds": list(children), **named, **more}


def _property(name: str, value: object) -> dict[str, Any]:
    return {"name": name, "value": {"value": value}}


def test_a_tree_is_written_as_browsergym_writes_it() -> None:
    nodes = [
        _node("1", "RootWebArea", "It's", "2", "8", properties=[_property("focused", True)]),
        _node("2", "generic", "", "3", "4", description={"value": "bid:7"}),
        _node("3", "button", " Go ", "5", properties=[_property("roledescription", "bid:13")]),
        _node(
            "4", "textbox", "", value={"value": "x"}, properties=[_property("level", 1), _property("required", False)]
        ),
        _node("5", "StaticText", "Go"),
        _node("8", "none", None, "9"),
        _node("9", "generic", "", properties=[_property("live", "polite")]),
    ]
    lines = ['RootWebArea "It\'s", focused', "\t[13] button 'Go'", "\ttextbox '' value='x'", "\tgeneric, live='polite'"]
    assert axtree.render(nodes) == "\n".join(lines)


def test_a_tree_may_be_deeper_than_the_stack() -> None:
    depth = 5000
    numbers = [str(number) for number in range(depth)]
    nodes = [_node(number, "group", number, child) for number, child in pairwise(numbers)]
    assert axtree.render(nodes).count("\n") == depth - 2
    assert axtree.render([]) == ""


# Pages


def test_a_page_is_pruned_as_browsergym_prunes_it() -> None:
    html = [
        *(["html", {"bid": "0"}], ["body", {"bid": "1"}], ["script", {"bid": "2"}], "let a = 1 < 2", 0),
        *(["div", {"bid": "3"}], ["span", {"id": "s", "bid": "4"}], "a\nb & <c>", 0, ["br", {}], 0, 0),
        *(["textarea", {"bid": "5", "value": '"x"'}], "  kept\n", 0, ["input", {"checked": ""}], 0, 0, 0),
    ]
    pruned = '<span bid="4" id="s">\n a b &amp; &lt;c&gt;\n</span>\n'
    pruned += '<textarea bid="5" value="&quot;x&quot;">  kept </textarea>\n<input checked=""/>\n'
    assert markup.prune(html) == pruned
    whole = markup.render(html)
    assert whole.startswith('<html bid="0">\n <body bid="1">\n  <script bid="2">\n   let a = 1 &lt; 2\n  </script>\n')
    assert whole.endswith(" </body>\n</html>\n")


_tokens = st.recursive(
    st.text('ab<&"', max_size=3).map(lambda text: [text]),
    lambda inner: st.tuples(st.sampled_from(["div", "p", "script", "body", "b", "pre", "br"]), st.lists(inner)).map(
        lambda element: [[element[0], {"bid": "1"}], *(token for child in element[1] for token in child), 0]
    ),
)


@given(_tokens)
def test_every_opened_tag_is_closed(tokens: list[Any]) -> None:
    for text in (markup.render(tokens), markup.prune(tokens)):
        depth = 0
        for line in text.splitlines():
            tag = line.strip()
            if tag.startswith("<") and not tag.endswith("/>") and "</" not in tag:
                depth += 1
            elif tag.startswith("</"):
                depth -= 1
            assert depth >= 0
        assert depth == 0


# Verdicts

_RULES = Rules(url="http://a/x.html", max_steps=5, limit_s=60.0)
_SEEN = Look(url="http://a/x.html", started=True)
_CALM: dict[str, Any] = {"in_front": True, "travelled": False, "infeasible": False, "steps": 1, "age_s": 1.0}


def test_an_episode_goes_on_until_the_page_ends_it() -> None:
    assert judge(_RULES, _SEEN, **_CALM) == GOES_ON


@pytest.mark.parametrize(("raw", "reward"), [(1.0, 1.0), (0.2, 1.0), (0.0, 0.0), (-0.5, 0.0), (-1.0, 0.0)])
def test_what_a_page_pays_is_told_raw_and_rounded(raw: float, reward: float) -> None:
    outcome = judge(_RULES, replace(_SEEN, verdict=Verdict(raw, "why")), **_CALM)
    assert (outcome.done, outcome.reward, outcome.raw, outcome.success) == (True, reward, raw, reward == 1.0)
    assert outcome.reason.endswith("why")
    assert not outcome.truncated


@pytest.mark.parametrize(
    ("look", "circumstances", "reason"),
    [
        ({"url": "http://a/y.html"}, {}, "left for http://a/y.html"),
        ({"started": False}, {}, "loaded again"),
        ({"url": "http://a/x.html#z"}, {"travelled": True}, "left for"),
        ({}, {"in_front": False}, "another tab"),
        ({}, {"infeasible": True}, "infeasible"),
    ],
)
def test_leaving_the_page_ends_the_episode_without_pay(
    look: dict[str, Any], circumstances: dict[str, Any], reason: str
) -> None:
    seen = replace(_SEEN, verdict=None if "infeasible" in circumstances else Verdict(1.0, ""), **look)
    outcome = judge(_RULES, seen, **{**_CALM, **circumstances})
    assert (outcome.done, outcome.truncated, outcome.reward, outcome.success) == (True, False, 0.0, False)
    assert reason in outcome.reason


def test_a_fragment_that_the_page_sets_does_not_leave_it() -> None:
    assert judge(_RULES, replace(_SEEN, url="http://a/x.html#"), **_CALM) == GOES_ON


@pytest.mark.parametrize(("limits", "reason"), [({"steps": 5}, "step limit"), ({"age_s": 60.0}, "time limit")])
def test_limits_truncate_unless_the_page_has_ended(limits: dict[str, Any], reason: str) -> None:
    outcome = judge(_RULES, _SEEN, **{**_CALM, **limits})
    assert (outcome.done, outcome.truncated, outcome.success) == (True, True, False)
    assert outcome.reason.startswith(reason)
    solved = judge(_RULES, replace(_SEEN, verdict=Verdict(1.0, "")), **{**_CALM, **limits})
    assert (solved.truncated, solved.success) == (False, True)


# Addresses


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("http://Example.org/a?b#c", Origin("http", "example.org", 80)),
        ("https://example.org:8443", Origin("https", "example.org", 8443)),
        ("wss://example.org/socket", Origin("https", "example.org", 443)),
        ("http://[::1]:8000/", Origin("http", "::1", 8000)),
    ],
)
def test_origins_are_read(address: str, origin: Origin) -> None:
    assert Origin.of(address) == origin
    assert Origin.of(str(origin)) == origin


@pytest.mark.parametrize(
    "address",
    [
        *("file:///etc/passwd", "data:text/html,hi", "javascript:1", "about:srcdoc", "blob:http://a/1", "a", "http://"),
        *("http://a@b/", "http://a:b/", "http://a:99999/", "chrome://version", "view-source:http://a/", "http://c/"),
        *("https://a/", "http://a:81/", "http://a.evil/", "ws://b/"),
    ],
)
def test_other_addresses_are_outside(address: str) -> None:
    assert not is_allowed_address(address, [Origin("http", "a", 80)])


def test_what_is_listed_is_inside() -> None:
    allowed = [Origin("http", "a", 80)]
    assert is_allowed_address("http://a/x", allowed)
    assert is_allowed_address("ws://a/x", allowed)
    assert is_allowed_address("about:blank", allowed)
