"""The shipped environments."""
