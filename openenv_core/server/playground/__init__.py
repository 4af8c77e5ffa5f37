"""The page at ``/web``: people read what an environment is, play it, watch sessions and replay episodes.

Imported only where it is switched on. The files in ``static`` are what a browser runs: nothing builds them, and nothing
is loaded from another host.
"""

from openenv_core.server.playground.pages import PageDoor

__all__ = ["PageDoor"]
