"""The live viewer: what a browser is shown of a simulation, and the server that shows it.

Nothing is imported here: the server is a process of its own, and must start quickly.
"""
