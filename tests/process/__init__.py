"""Real servers in processes of their own, real sockets, real signals, and faults in between."""
