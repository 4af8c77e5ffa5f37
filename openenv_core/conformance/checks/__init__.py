"""The checks, in the order in which they run and are reported."""

from openenv_core.conformance.checks import episodes, models, objects, refusals, routes, seeds, sessions

__all__ = ["CHECKS"]

CHECKS = (
    *routes.CHECKS,
    *episodes.CHECKS,
    *refusals.CHECKS,
    *seeds.CHECKS,
    *sessions.CHECKS,
    *objects.CHECKS,
    *models.CHECKS,
)
