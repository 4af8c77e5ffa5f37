"""One episode: when it is over, why, and what it paid. No browser, no clock: what was seen is an argument."""

from dataclasses import dataclass
from typing import Final

from browsergym_env_server.tab import Look, Verdict

__all__ = ["GOES_ON", "Outcome", "Rules", "judge"]


@dataclass(frozen=True)
class Outcome:
    """What a step led to.

    Attributes:
        done: the episode is over.
        truncated: a limit cut it.
        reward: 1 where the page paid anything above 0, else 0: BrowserGym's rule.
        success: whether the task was solved; ``None`` while that is open.
        raw: what the page itself paid.
        reason: why the episode is over.
    """

    done: bool = False
    truncated: bool = False
    reward: float = 0.0
    success: bool | None = None
    raw: float | None = None
    reason: str = ""


GOES_ON: Final = Outcome()


@dataclass(frozen=True)
class Rules:
    """What bounds an episode.

    Attributes:
        url: the address of the task's page.
        max_steps: steps until it is cut; ``None`` for no limit.
        limit_s: seconds until it is cut.
    """

    url: str
    max_steps: int | None
    limit_s: float


def judge(
    rules: Rules, look: Look, *, in_front: bool, travelled: bool, infeasible: bool, steps: int, age_s: float
) -> Outcome:
    """What a step led to.

    Args:
        look: the page in front.
        in_front: it is the task's page, not another tab.
        travelled: an action named an address to go to, and the browser went there.
        infeasible: the agent has reported that the task cannot be done.
        steps: steps of this episode, this one included.
        age_s: seconds since its start.
    """
    departure = _departure(rules, look, in_front=in_front, travelled=travelled)
    if departure:
        return Outcome(done=True, success=False, reason=departure)
    if look.verdict is not None:
        return _by_verdict(look.verdict)
    if infeasible:
        return Outcome(done=True, success=False, reason="the agent reported that the task is infeasible")
    if rules.max_steps is not None and steps >= rules.max_steps:
        return _cut(f"step limit: {rules.max_steps} steps")
    if age_s >= rules.limit_s:
        return _cut(f"time limit: {rules.limit_s:g} s")
    return GOES_ON


def _departure(rules: Rules, look: Look, *, in_front: bool, travelled: bool) -> str:
    """How the task's page was left; empty where it was not.

    A fragment alone that the page itself puts behind its address (``href="#"``) does not leave it: BrowserGym ends the
    episode there, and so makes ``search-engine`` impossible to solve.
    """
    if not in_front:
        return "the task's page was left for another tab"
    if travelled or look.url.partition("#")[0] != rules.url:
        return f"the task's page was left for {look.url[:200]}"
    if not look.started:
        return "the task's page was loaded again"
    return ""


def _by_verdict(verdict: Verdict) -> Outcome:
    solved = verdict.raw > 0
    reason = "solved" if solved else "failed"
    if verdict.reason:
        reason += f": {verdict.reason}"
    return Outcome(done=True, reward=1.0 if solved else 0.0, success=solved, raw=verdict.raw, reason=reason)


def _cut(reason: str) -> Outcome:
    return Outcome(done=True, truncated=True, success=False, reason=reason)
