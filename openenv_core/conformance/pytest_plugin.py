"""The pytest plugin: ``pytest --openenv-check TARGET``."""
