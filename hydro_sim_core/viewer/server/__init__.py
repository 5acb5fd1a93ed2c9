"""The viewer's server, a process of its own: ``python -m hydro_sim_core.viewer.server FD``.

It imports nothing of the engine, so that it starts quickly. As a separate process it bears the load of the pages, which
therefore cannot hold up a simulation. It opens no file for a page: everything that it serves is in memory before the
first request.
"""
