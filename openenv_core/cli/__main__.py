"""``python -m openenv_core.cli``."""

from openenv_core.cli.main import main

main()
