"""The viewer's server, a process of its own: ``python -m hydro_sim_core.viewer.server FD``.

It imports nothing of the engine, so that it starts quickly, and nothing that pages do can hold up a simulation: what
they cost is paid here. It opens no file for a page: all that it serves is in memory before the first request.
"""
