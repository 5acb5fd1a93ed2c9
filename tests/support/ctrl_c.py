"""Ctrl-C for programs that tests start."""

import signal


def heed_ctrl_c() -> None:
    """In a child: a test run that was started with & hands down that SIGINT is ignored; Ctrl-C would end nothing."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
