"""The ``openenv`` command. One file per command. Needs the ``cli`` extra."""
