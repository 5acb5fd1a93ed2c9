"""Recording of the node's topics and commands, and replay of recorded commands."""
