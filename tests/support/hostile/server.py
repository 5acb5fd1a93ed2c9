"""A process that has the program loaded and forks a child for each command, so that a case takes little time.

It reads a JSON object a line (``folder``, ``arguments``) and answers with one a line: exit status, signal and the
child's peak of memory above this process's own. Children are limited in processor time, wall time and memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import traceback
from pathlib import Path

#: Limits of a case: processor time, s, and memory above that of the loaded program, bytes.
CPU_SECONDS, MEMORY = 10, 2**30
#: Wall time, s: for what waits without working, on a machine that may be busy.
WALL_SECONDS = 40.0
#: Address space is limited well above, so that the peak of memory is seen and the machine is safe.
_ADDRESS_SPACE = 4 * 2**30
OUTPUT, ERRORS = "stdout.txt", "stderr.txt"


def serve() -> None:
    """Load the program, then run commands until the input ends."""
    # The commands have standard output for themselves.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _load()
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        print(json.dumps(_run(Path(order["folder"]), order["arguments"])), file=answers, flush=True)


def _load() -> None:
    """Import what commands need and load the kernels, as the first ``check`` of every user does."""
    from hydro_sim_core.cli import app

    sys.argv = ["hydro-sim", "check", "drop_box"]
    output = os.dup(1)
    with open(os.devnull, "w") as nothing, contextlib.suppress(SystemExit):
        os.dup2(nothing.fileno(), 1)
        app()
    os.dup2(output, 1)


def _run(folder: Path, arguments: list[str]) -> dict[str, object]:
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = os.fork()
    if child == 0:
        _be_child(folder, arguments)
    descriptor = os.pidfd_open(child)
    ended, _, _ = select.select([descriptor], [], [], WALL_SECONDS)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    os.close(descriptor)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it may have left running
    return {
        "code": os.waitstatus_to_exitcode(status),
        "hangs": not ended,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": 1024 * max(usage.ru_maxrss - baseline, 0),
    }


def _be_child(folder: Path, arguments: list[str]) -> None:
    code = 99
    try:
        os.setsid()
        os.chdir(folder)
        for descriptor, name in ((1, OUTPUT), (2, ERRORS)):
            os.dup2(os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        space = pages * resource.getpagesize() + _ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**28, 2**28))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = _command(arguments)
    finally:
        os._exit(code)


def _command(arguments: list[str]) -> int:
    """Exit status of ``hydro-sim`` with these arguments."""
    from hydro_sim_core.cli import main

    sys.argv = ["hydro-sim", *arguments]
    try:
        main()
    except SystemExit as ended:
        code = ended.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
        return code if isinstance(code, int) else int(code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    serve()
