"""Entry point: takes signals before anything else, for the imports alone take seconds."""

from __future__ import annotations

import signal
import sys
from threading import Event


def main() -> int:
    """Run the node until a signal or the end of ``duration``; the exit status."""
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    from hydro_sim.node import run

    return run(sys.argv, stop)


if __name__ == "__main__":
    sys.exit(main())
