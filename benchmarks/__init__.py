"""What is measured against the public ``openenv`` package and against the bare transport, one command each."""
