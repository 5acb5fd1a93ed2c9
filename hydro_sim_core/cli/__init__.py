"""The ``hydro-sim`` command."""

try:
    from hydro_sim_core.cli.app import app, main
except KeyboardInterrupt:  # importing takes seconds on a busy machine
    raise SystemExit(130) from None

__all__ = ["app", "main"]
