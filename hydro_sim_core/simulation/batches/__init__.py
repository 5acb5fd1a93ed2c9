"""Many worlds of one scene that are stepped together."""
