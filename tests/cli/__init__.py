"""The commands, run as commands: in a process of their own, and where it matters at a terminal."""
