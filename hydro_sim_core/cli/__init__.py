"""The ``hydro-sim`` command."""

from hydro_sim_core.cli.app import app, main

__all__ = ["app", "main"]
