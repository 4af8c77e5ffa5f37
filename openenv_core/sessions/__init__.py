"""Sessions: a client's hold on one environment object, from admission to the end."""
