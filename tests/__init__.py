"""Tests. ``unit`` mirrors the framework's tree; the other folders play whole parts together."""
