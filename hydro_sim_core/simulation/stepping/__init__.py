"""The compiled time step and its memory."""
