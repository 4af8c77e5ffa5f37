"""Bytes and frames: both ends of a connection import these, and nothing else spells a field of a frame."""
