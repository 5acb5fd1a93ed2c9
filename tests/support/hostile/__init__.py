"""Hostile inputs for the program, and a server that runs it on them."""
