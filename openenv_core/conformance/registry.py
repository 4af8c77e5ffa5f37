"""What a check is."""

from collections.abc import Callable
from dataclasses import dataclass

from openenv_core.conformance.bench import Bench
from openenv_core.conformance.report import Finding

__all__ = ["Check"]


@dataclass(frozen=True)
class Check:
    """One named demand on an environment.

    Attributes:
        name: what reports call it.
        demand: what it asks for, in a few words.
        run: looks at a target.
        needs: checks without which this one cannot tell anything; where one of them does not pass, it is skipped.
    """

    name: str
    demand: str
    run: Callable[[Bench], Finding]
    needs: tuple[str, ...] = ()
