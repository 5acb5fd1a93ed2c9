"""A process that compiles entry points: symbols come in on standard input, a line each; machine code goes out.

It is called with LLVM's name of a processor, its features, and the number of an open file for its answers. These are
lines: ``kernel NAME`` for each kernel that was translated, then ``done DIGEST LENGTH``, after which that many bytes of
machine code follow, or ``failed TEXT``. Whatever prints to standard output is so no answer.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys

from hydro_sim_core.compilation import compiler
from hydro_sim_core.compilation.dependencies import dependencies
from hydro_sim_core.compilation.kernels import entry_named
from hydro_sim_core.compilation.targets import Target

_PR_SET_PDEATHSIG = 1


def main(cpu: str, features: str, answers_to: str) -> None:
    """Compile what is asked for until standard input ends."""
    _end_with_parent()
    # A compiler makes little garbage, and looking for it takes a tenth of the time.
    gc.disable()
    target = Target(cpu, features)
    answers = os.fdopen(int(answers_to), "wb")

    def answer(line: str, content: bytes = b"") -> None:
        answers.write(line.encode() + b"\n" + content)
        answers.flush()

    compiler.on_kernel.append(lambda name: answer(f"kernel {name}"))
    for line in sys.stdin:
        try:
            entry = entry_named(line.strip())
            code = compiler.compile_entry(entry, target)
            answer(f"done {dependencies(entry).digest} {len(code)}", code)
        except Exception as error:  # whatever is wrong with a kernel is for the process that asked
            text = f"{type(error).__name__}: {error}".encode("unicode_escape").decode()
            answer(f"failed {text}")


def _end_with_parent() -> None:
    """Have Linux end this process when the one that asks has ended; elsewhere its standard input will."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
