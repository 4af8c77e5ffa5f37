"""Bridges to other libraries' environments. Each module needs the library that it is named for."""
