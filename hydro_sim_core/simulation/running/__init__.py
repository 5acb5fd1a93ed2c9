"""Runner of a world at a fixed rate in a thread, and snapshots for other threads."""
