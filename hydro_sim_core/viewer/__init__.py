"""The live viewer: scenes and frames of a simulation, and the server that shows them in browsers.

Nothing is imported here, because the server is a process of its own that must start quickly.
"""
