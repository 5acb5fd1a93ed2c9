"""The browser's view of the node, and what it may do to it."""
