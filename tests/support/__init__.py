"""What several test files need: environments that keep a journal, servers in a thread, raw peers, waiting."""
