"""Projects: packed, pushed, made from the template, checked."""
