"""Pause, step, reset and everything else that a client does to the simulation as a whole."""
