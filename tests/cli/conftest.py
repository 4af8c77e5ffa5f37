"""What the tests of commands share."""

from tests.support.commands import openenv

__all__ = ["openenv"]
