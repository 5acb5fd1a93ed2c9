"""A world stepped at a fixed rate by a thread, and what other threads see of it."""
