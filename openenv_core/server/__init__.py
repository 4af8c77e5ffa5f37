"""The server side: applications that host environments. Needs the ``server`` extra."""

from openenv_core.server.app import ConcurrencyConfig, create_app, create_app_from_spec

__all__ = ["ConcurrencyConfig", "create_app", "create_app_from_spec"]
