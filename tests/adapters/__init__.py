"""Bridges to other libraries, tried with those libraries."""
