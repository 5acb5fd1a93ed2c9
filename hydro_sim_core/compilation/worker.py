"""Worker process that compiles entry points: reads symbols from standard input, one per line, and returns machine code.

Its arguments are LLVM's name of a processor, its features, and the number of an open file descriptor for its answers.
Answers are lines: ``kernel NAME`` for each translated kernel, then ``done DIGEST LENGTH``, followed by that many bytes
of machine code, or ``failed TEXT``. Output of other code to standard output does therefore not mix with the answers.
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
    """Compile the requested entry points until standard input ends."""
    _end_with_parent()
    # Compilation leaves little garbage, and collecting it takes a tenth of the time.
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
        except Exception as error:  # any error is reported by the parent process
            text = f"{type(error).__name__}: {error}".encode("unicode_escape").decode()
            answer(f"failed {text}")


def _end_with_parent() -> None:
    """Let Linux end this process when the parent has ended; on other systems the end of standard input does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    main(*sys.argv[1:])
