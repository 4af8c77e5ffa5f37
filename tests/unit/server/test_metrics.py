"""What ``/metrics`` tells of a server that was used in a known way."""

from collections.abc import Iterator

import httpx
import pytest

from openenv_core.client import GenericEnvClient
from openenv_core.errors import EnvironmentFailedError
from tests.server.toys import Parrot, post, socket_of
from tests.support.serving import Served, serving
from tests.support.waiting import LIMIT_S, eventually

parser = pytest.importorskip("prometheus_client.parser", reason="the library that writes the metrics is not installed")


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Parrot, limits={"max_sessions": 3}) as running:
        yield running


def scrape(served: Served, **headers: str) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    answer = httpx.get(f"{served.base_url}/metrics", headers=headers, trust_env=False)
    assert answer.status_code == 200
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in parser.text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_sessions_by_state_and_door(served: Served) -> None:
    with GenericEnvClient(served.base_url) as client, socket_of(served):
        client.reset()
        post(served, "/reset")
        eventually(lambda: served.gateway.manager.opened == 3)
        seen = scrape(served)
    assert seen["openenv_sessions", "attached"] == 3
    assert seen["openenv_sessions", "detached"] == 0
    assert seen["openenv_sessions_max",] == 3
    assert {door: seen["openenv_sessions_opened_total", door] for door in ("ws.v1", "ws.v2", "http")} == {
        "ws.v1": 1,
        "ws.v2": 1,
        "http": 1,
    }
    eventually(lambda: scrape(served).get(("openenv_sessions_ended_total", "closed")) == 1)
    eventually(lambda: scrape(served).get(("openenv_sessions_ended_total", "disconnected")) == 1)


def test_steps_and_episodes(served: Served) -> None:
    with GenericEnvClient(served.base_url) as client:
        for _ in range(2):
            client.reset()
            client.step({"text": "abc"})
            client.step({"text": "bye"})
        client.reset()
        client.step({"text": "a"})
    eventually(lambda: served.active == 0)
    seen = scrape(served)
    assert seen["openenv_step_seconds_count",] == 5
    assert seen["openenv_step_seconds_bucket", "+Inf"] == 5
    assert 0 < seen["openenv_step_seconds_sum",] < LIMIT_S
    assert seen["openenv_episode_steps_count", "finished"] == 2
    assert seen["openenv_episode_steps_sum", "finished"] == 4
    assert seen["openenv_rewards", "finished"] == 12
    assert seen["openenv_episode_reward_bucket", "finished", "5.0"] == 0
    assert seen["openenv_episode_reward_bucket", "finished", "10.0"] == 2
    assert seen["openenv_episode_steps_count", "abandoned"] == 1


def test_buckets_only_grow(served: Served) -> None:
    with GenericEnvClient(served.base_url) as client:
        client.reset()
        for _ in range(50):
            client.step({"text": "abc"})
        seen = scrape(served)
    counts = [value for (name, *_), value in seen.items() if name == "openenv_step_seconds_bucket"]
    assert counts == sorted(counts)
    assert counts[-1] == 50


def test_errors_by_code(served: Served) -> None:
    with GenericEnvClient(served.base_url) as client:
        client.reset()
        for _ in range(3):
            with pytest.raises(EnvironmentFailedError):
                client.step({"fail": "boom"})
    assert post(served, "/step", {"action": {"text": 5}}).status_code in (409, 422)
    seen = scrape(served)
    assert seen["openenv_errors_total", "EXECUTION_ERROR"] == 3


def test_the_wait_for_a_slot(served: Served) -> None:
    with socket_of(served) as first, socket_of(served), socket_of(served), socket_of(served, v2=True) as waiting:
        eventually(lambda: served.active == 3)
        waiting.send(f'{{"id":1,"type":"open","data":{{"wait_s":{LIMIT_S}}}}}')
        eventually(lambda: scrape(served)["openenv_queue",] == 1)
        assert scrape(served)["openenv_queue_wait_seconds_count",] == 0
        first.close()
        eventually(lambda: scrape(served)["openenv_queue_wait_seconds_count",] == 1)
        assert scrape(served)["openenv_queue",] == 0


def test_both_formats_of_prometheus_are_spoken(served: Served) -> None:
    openmetrics = "application/openmetrics-text; version=1.0.0"
    answer = httpx.get(f"{served.base_url}/metrics", headers={"Accept": openmetrics}, trust_env=False)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")
    plain = httpx.get(f"{served.base_url}/metrics", trust_env=False)
    assert plain.headers["content-type"].startswith("text/plain")
    assert "openenv_info{" in plain.text
    assert "process_resident_memory_bytes" in plain.text


def test_they_are_behind_the_token() -> None:
    with serving(Parrot, limits={"token": "tok-123456"}) as served:
        assert httpx.get(f"{served.base_url}/metrics", trust_env=False).status_code == 401
        bearer = {"Authorization": "Bearer tok-123456"}
        assert httpx.get(f"{served.base_url}/metrics", headers=bearer, trust_env=False).status_code == 200
