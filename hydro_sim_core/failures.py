"""Expected errors, for which a program prints one line in place of a traceback."""

from __future__ import annotations

import errno
import re

from hydro_sim_core.errors import InputError, printable, shortened

#: Longest message, characters: what is wrong may be a name of a million.
_LONGEST = 2000
#: Names of other packages whose kernels the failed entry point contains.
_OF_PLUGINS = re.compile(r"It contains kernels of ([\w., ]+)\.$")
#: Source line in the compiler's message; lines in Numba's own files do not count.
_PLACE = re.compile(r'File "((?!.*/numba/)[^"]+)", (line \d+)')


def in_one_line(error: BaseException) -> str | None:
    """One-line message for a user; None if the error is not an expected one.

    Expected errors are bad input, a diverging run, a kernel that cannot be compiled, and a name that is too long for a
    file, which any call may meet first.
    """
    if isinstance(error, (InputError, FloatingPointError)):
        return printable(shortened(str(error), _LONGEST))
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{shortened(str(error.filename))}: is too long for the name of a file; give a shorter one"
    # Imported here because it imports NumPy, for which "--help" should not wait.
    from hydro_sim_core.compilation import CompilationFailed

    return _of_compiling(str(error)) if isinstance(error, CompilationFailed) else None


def _of_compiling(text: str) -> str:
    """Reason from the compiler's message of about a hundred lines: its first informative line."""
    kernel, _, told = text.partition(": ")
    if "ended with status -" in told:
        return (
            f"{kernel}: {told}, as if killed; start again with more memory free: "
            "up to four compilers need 300 MB each, and what they finished is kept"
        )
    lines = (" ".join(line.split()) for line in told.splitlines())
    telling = [line for line in lines if line and "Failed in nopython mode pipeline" not in line]
    reason = " ".join(telling[: 2 if telling and telling[0].endswith(":") else 1])
    place = _PLACE.search(told)
    where = f" ({place[1]}, {place[2]})" if place else ""
    strangers = _OF_PLUGINS.search(told)
    if strangers:
        mend = f"correct or remove {strangers[1]}, whose kernels are part of it"
    else:
        mend = "correct the kernel if it is yours, else report this line, for it is a defect of hydro-sim"
    return (
        f"{kernel}: cannot be compiled: {reason}{where}; {mend}; with NUMBA_DISABLE_JIT=1 all runs uncompiled, and "
        "slowly"
    )
