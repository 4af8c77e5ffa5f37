"""Tests of ``openenv_core.sampling``."""
