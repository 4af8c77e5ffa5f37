"""``/metrics``: what the server counts, in the format of Prometheus.

The library that writes it is loaded when somebody asks for the first time; keeping the counts needs nothing of it.
"""

import asyncio
import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from openenv_core import __version__
from openenv_core.server.gateway import Gateway
from openenv_core.sessions.lease import LeaseState
from openenv_core.sessions.measures import Durations, Spread

if TYPE_CHECKING:
    from openenv_core.recording import Recorder

__all__ = ["MetricsDoor"]

_SHORTEST, _LONGEST = 3, 30
"""Buckets of durations: powers of two of microseconds, from 8 µs to about 18 minutes."""


class MetricsDoor:
    """The metrics of one server."""

    def __init__(self, gateway: Gateway, recorder: "Recorder | None" = None) -> None:
        self._gateway = gateway
        self._recorder = recorder
        self._registry: Any = None
        self.router = APIRouter(tags=["Operation"])
        self.router.add_api_route("/metrics", self.metrics, methods=["GET"], response_class=Response)

    async def metrics(self, request: Request) -> Response:
        """Sessions, queue, steps, episodes and errors, and the process's memory and processor time."""
        if self._registry is None:
            # In a thread: the first import takes longer than many steps.
            self._registry = await asyncio.to_thread(self._register)
        exposition = importlib.import_module("prometheus_client.exposition")
        encode, content_type = exposition.choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), media_type=None, headers={"Content-Type": content_type})

    def _register(self) -> Any:
        prometheus = importlib.import_module("prometheus_client")
        registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=registry)
        registry.register(_Collector(self._gateway, self._recorder))
        return registry


class _Collector:
    """Gives Prometheus's library the counts under their names."""

    def __init__(self, gateway: Gateway, recorder: "Recorder | None") -> None:
        self._gateway = gateway
        self._recorder = recorder
        self._families = importlib.import_module("prometheus_client.core")

    def collect(self) -> Iterator[Any]:
        """All families, as they stand now."""
        yield from self._sessions()
        yield from self._calls()
        yield from self._episodes()
        if self._recorder is not None:
            yield from self._recordings(self._recorder)

    def _sessions(self) -> Iterator[Any]:
        manager, families = self._gateway.manager, self._families
        labels = {"version": __version__, "env_name": self._gateway.env_name, "backend": manager.backend.name}
        yield families.InfoMetricFamily("openenv", "The server.", labels)
        states = families.GaugeMetricFamily("openenv_sessions", "Sessions by state.", labels=["state"])
        attached = sum(session.lease.state is LeaseState.ATTACHED for session in manager.sessions.values())
        states.add_metric(["attached"], attached)
        states.add_metric(["detached"], len(manager.sessions) - attached)
        states.add_metric(["changing"], manager.admission.active - len(manager.sessions))
        yield states
        yield families.GaugeMetricFamily("openenv_sessions_max", "Slots.", manager.admission.max_sessions)
        yield families.GaugeMetricFamily("openenv_queue", "Callers that wait for a slot.", manager.admission.queued)
        yield self._counter("openenv_sessions_opened", "Sessions by door.", "door", manager.measures.opened)
        yield self._counter("openenv_sessions_ended", "Ended sessions by reason.", "reason", manager.ended)

    def _calls(self) -> Iterator[Any]:
        measures = self._gateway.manager.measures
        yield self._counter("openenv_errors", "Error replies by code.", "code", measures.errors)
        for name, told, durations in (
            ("openenv_queue_wait_seconds", "Time in the queue until a slot was free.", measures.waits),
            ("openenv_step_seconds", "Time in the environment's step.", measures.steps),
        ):
            family = self._families.HistogramMetricFamily(name, told)
            family.add_metric([], _duration_buckets(durations), durations.total)
            yield family

    def _episodes(self) -> Iterator[Any]:
        measures = self._gateway.manager.measures
        both = (("finished", measures.finished), ("abandoned", measures.abandoned))
        steps = self._families.HistogramMetricFamily("openenv_episode_steps", "Steps of an episode.", labels=["end"])
        rewards = self._families.HistogramMetricFamily(
            "openenv_episode_reward", "Sum of an episode's rewards.", labels=["end"]
        )
        # A histogram of numbers that may be negative has no sum in this format.
        sums = self._families.GaugeMetricFamily("openenv_rewards", "Rewards of all episodes, added.", labels=["end"])
        for end, episodes in both:
            steps.add_metric([end], _spread_buckets(episodes.steps), episodes.steps.total)
            rewards.add_metric([end], _spread_buckets(episodes.rewards), episodes.rewards.total)
            sums.add_metric([end], episodes.rewards.total)
        yield from (steps, rewards, sums)

    def _recordings(self, recorder: "Recorder") -> Iterator[Any]:
        written = self._families.CounterMetricFamily("openenv_recorded_frames", "Lines written to recordings.")
        written.add_metric([], recorder.written)
        yield written
        told = "Lines left out of recordings: the queue was full, the disk failed, or the room was used up."
        yield self._counter("openenv_recording_lost_frames", told, "reason", recorder.dropped)
        told = "Failures of the disk while recording, by the system's name."
        yield self._counter("openenv_recording_errors", told, "error", recorder.errors)
        size = self._families.GaugeMetricFamily("openenv_recordings_bytes", "Size of all recordings.")
        size.add_metric([], recorder.size)
        yield size

    def _counter(self, name: str, told: str, label: str, counts: Any) -> Any:
        family = self._families.CounterMetricFamily(name, told, labels=[label])
        for value, count in sorted(counts.items()):
            family.add_metric([str(value)], count)
        return family


def _duration_buckets(durations: Durations) -> list[tuple[str, float]]:
    powers = range(_SHORTEST, _LONGEST + 1)
    return [*((repr(2**power / 1e6), durations.up_to(power)) for power in powers), ("+Inf", sum(durations.counts))]


def _spread_buckets(spread: Spread) -> list[tuple[str, float]]:
    found, so_far = [], 0
    for bound, count in zip((*map(float, spread.bounds), float("inf")), spread.counts, strict=True):
        so_far += count
        found.append((repr(bound) if bound != float("inf") else "+Inf", float(so_far)))
    return found
