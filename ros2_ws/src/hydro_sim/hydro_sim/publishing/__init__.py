"""State out: snapshots of the World become messages, off the stepping thread."""
