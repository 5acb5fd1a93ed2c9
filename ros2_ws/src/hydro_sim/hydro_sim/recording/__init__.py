"""Recording of what the node publishes and is told, and replay of the commands in a recording."""
