"""Programs that are forked from a process with all imports, where a page starts dozens of them.

A page finds a small script under the program's name. It hands its arguments, folder, environment and files to the
process with the imports, passes signals on to the program that this forks, and ends with its status.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

_SCRIPT = """\
#!{python} -IS
import os, signal, socket, sys

link = socket.socket(socket.AF_UNIX)
link.connect({address!r})
told = "\\0".join([{program!r}, os.getcwd(), str(len(os.environ)), *map("=".join, os.environ.items()), *sys.argv[1:]])
data = os.fsencode(told)
socket.send_fds(link, [len(data).to_bytes(4, "little")], [0, 1, 2])
link.sendall(data)
program = int.from_bytes(link.recv(4, socket.MSG_WAITALL), "little")
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.kill(program, number))
sys.exit(link.recv(1)[0])
"""


@cache
def _server() -> str:
    """Address of the process with the imports, which ends with this one."""
    address = str(Path(mkdtemp()) / "programs")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    inherited, ours = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, __file__, str(listener.fileno()), str(inherited.fileno())],
        pass_fds=[listener.fileno(), inherited.fileno()],
        env=os.environ | {"MPLBACKEND": "agg"},
    )
    inherited.close()

    def stop() -> None:
        ours.close()
        process.wait()

    atexit.register(stop)
    return address


def write_program(path: Path, program: str) -> None:
    """Write the script that starts ``hydro-sim`` or, as ``hydro_sim``, the node."""
    path.write_text(_SCRIPT.format(python=sys.executable, address=_server(), program=program))
    path.chmod(0o755)


# --- the process with the imports


def _import_everything() -> None:
    import hydro_sim_core

    for module in pkgutil.walk_packages(hydro_sim_core.__path__, "hydro_sim_core."):
        # Numba is for who compiles; programs ask whether it is there.
        if not (module.name.endswith("__main__") or module.name.startswith("hydro_sim_core.compilation.")):
            importlib.import_module(module.name)
    importlib.import_module("hydro_sim.node")


def _serve(listener: socket.socket, lifeline: socket.socket) -> None:
    _import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, lifeline], [], [])
        if lifeline in ready:
            return
        link, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            lifeline.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _attend(link)
        link.close()


def _attend(link: socket.socket) -> None:
    """Fork the program, and tell its status, or kill it when nobody waits for that any more."""
    head, files, _, _ = socket.recv_fds(link, 4, 3)
    told = os.fsdecode(link.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)).split("\0")
    program, folder, count = told[0], told[1], int(told[2])
    environment = dict(variable.split("=", 1) for variable in told[3 : 3 + count])
    pid = os.fork()
    if pid == 0:
        link.close()
        for descriptor, file in enumerate(files):
            os.dup2(file, descriptor)
            os.close(file)
        _become(program, folder, environment, told[3 + count :])
    for file in files:
        os.close(file)
    link.sendall(pid.to_bytes(4, "little"))
    ended = os.pidfd_open(pid)
    ready, _, _ = select.select([ended, link], [], [])
    if ended not in ready:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    link.sendall(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


def _become(program: str, folder: str, environment: dict[str, str], arguments: list[str]) -> None:
    """Be what was started as ``program``."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [program, *arguments]
    code = 1
    try:
        start = {"hydro-sim": _hydro_sim, "hydro_sim": _node}[program]
        start()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code)


def _hydro_sim() -> None:
    from hydro_sim_core.cli import main

    main()


def _node() -> None:
    runpy.run_module("hydro_sim", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve(*(socket.socket(fileno=int(number)) for number in sys.argv[1:]))
