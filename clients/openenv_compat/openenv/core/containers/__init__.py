"""Where servers run."""
