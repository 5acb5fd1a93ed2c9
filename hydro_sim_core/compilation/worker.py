"""A process that compiles entry points: symbols come in on standard input, a line each; code goes to the disk.

Its answers are lines: ``kernel NAME`` for each kernel that was translated, then ``done`` or ``failed TEXT``.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys

from hydro_sim_core.compilation import compiler, store
from hydro_sim_core.compilation.kernels import entry_named

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Compile what is asked for until standard input ends."""
    # Ctrl-C is for the process that asks; it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    # A compiler makes little garbage, and looking for it takes a tenth of the time.
    gc.disable()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    # What anything else prints must not be taken for an answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    compiler.on_kernel.append(lambda name: print("kernel", name, file=answers))
    for line in sys.stdin:
        try:
            entry = entry_named(line.strip())
            store.save(entry, compiler.compile_entry(entry))
        except Exception as error:  # whatever is wrong with a kernel is for the process that asked
            text = f"{type(error).__name__}: {error}".encode("unicode_escape").decode()
            print("failed", text, file=answers)
        else:
            print("done", file=answers)


def _end_with_parent() -> None:
    """Have Linux end this process when the one that asks has ended; elsewhere its standard input will."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    main()
