"""Program that runs fTetWild in a process of its own: ``python -P tetwild_process.py OUTPUT PARENT``.

The surface comes on standard input, a file; the mesh goes to the open file OUTPUT, a number: files without a name, of
which nothing is left when the process is killed. A separate process can be stopped after a time limit, keeps crashes
and output of the C++ library away from the caller, and restarts the library's random numbers. It imports nothing from
this package, so that it starts quickly.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import platform
import signal
import sys
import types
from typing import BinaryIO

import numpy as np

#: Machine code of ``return 42`` for each architecture with Linux wheels.
_RETURN_42 = {
    "x86_64": bytes.fromhex("b82a000000c3"),
    "aarch64": bytes.fromhex("40058052c0035fd6"),
}


#: Option of the system call prctl: a signal for this process when its parent ends.
_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Let Linux kill this process when its parent ends for any reason; does nothing on other systems.

    A killed parent cannot stop the mesher, which would run on for minutes.
    """
    if platform.system() != "Linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the parent has already ended
        os.kill(os.getpid(), signal.SIGKILL)


def make_repeatable() -> bool:
    """Make ``std::random_device`` return a constant in this process; returns False if that is not possible.

    fTetWild inserts triangles in random order with a generator seeded by it, and has no option for the seed (its issue
    72). Without this function, every run gives another mesh.
    """
    code = _RETURN_42.get(platform.machine())
    if code is None or platform.system() != "Linux":
        return False
    try:
        function = ctypes.CDLL("libstdc++.so.6")["_ZNSt13random_device9_M_getvalEv"]
    except (OSError, AttributeError):
        return False
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    page = address - address % mmap.PAGESIZE
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    read_write_execute = 7
    if protect(page, address + len(code) - page, read_write_execute) != 0:
        return False
    ctypes.memmove(address, code, len(code))
    return True


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Tetrahedralise the surface in ``source`` and write vertices and tetrahedra to ``target``."""
    # pytetwild imports pyvista for an accessor that is not used here; its metadata declares pyvista as optional.
    with contextlib.suppress(ImportError):
        import pyvista  # noqa: F401
    sys.modules.setdefault("pyvista", types.ModuleType("pyvista"))
    import pytetwild

    repeatable = make_repeatable()
    job = np.load(source)
    vertices, tetrahedra = pytetwild.tetrahedralize(
        job["vertices"],
        job["triangles"].astype(np.int32),
        edge_length_abs=float(job["edge_length"]),
        epsilon=float(job["envelope"]),
        num_threads=1,
        num_opt_iter=int(job["passes"]),
        quiet=True,
    )
    np.savez(target, vertices=vertices, tetrahedra=tetrahedra.astype(np.int64), repeatable=repeatable)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[2]))
    with os.fdopen(int(sys.argv[1]), "wb") as output:
        main(sys.stdin.buffer, output)
