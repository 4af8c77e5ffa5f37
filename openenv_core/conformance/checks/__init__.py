"""The checks, in the order in which they run and are reported."""

from openenv_core.conformance.checks.episodes import CHECKS as _EPISODES
from openenv_core.conformance.checks.models import CHECKS as _MODELS
from openenv_core.conformance.checks.objects import CHECKS as _OBJECTS
from openenv_core.conformance.checks.refusals import CHECKS as _REFUSALS
from openenv_core.conformance.checks.routes import CHECKS as _ROUTES
from openenv_core.conformance.checks.seeds import CHECKS as _SEEDS
from openenv_core.conformance.checks.sessions import CHECKS as _SESSIONS

__all__ = ["CHECKS"]

CHECKS = (*_ROUTES, *_EPISODES, *_REFUSALS, *_SEEDS, *_SESSIONS, *_OBJECTS, *_MODELS)
