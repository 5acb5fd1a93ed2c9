"""Process that compiles the step of many worlds for a GPU: a request on standard input, PTX on standard output.

A process of its own, because it sets options of LLVM that hold for all that a process compiles.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from typing import Any

from hydro_sim_core.compilation import CompilationFailed
from hydro_sim_core.compilation.kernels import entry_named
from hydro_sim_core.compilation.side_by_side import SideBySide
from hydro_sim_core.simulation.batches.memory import Plan
from hydro_sim_core.simulation.batches.stepping import MEMORY, WorldData, advance_world

#: In place of a GPU's processor: this computer's.
HERE = "here"


def compiled(plan: Plan, solve: Any, processor: str, threads: int) -> bytes:
    """PTX of the step of a scene's worlds; takes minutes.

    Args:
        plan: Memory of the worlds.
        solve: Solver of a step's problem.
        processor: LLVM's name of the GPU's processor, such as ``sm_90``; or ``HERE`` for LLVM's code of what this
            computer's processor runs in its place, see ``ptx.module_here``.
        threads: Threads of a block.

    Raises:
        CompilationFailed: The process ended with an error.
    """
    request = {
        "solver": solve.symbol,
        "row_fields": [[*_name_of(owner), field] for owner, field in plan.memory.row_fields],
        "words": plan.words,
        "structs": plan.structs,
        "lanes": plan.lanes,
        "processor": processor,
        "threads": threads,
    }
    command = [sys.executable, "-P", "-m", __name__]
    done = subprocess.run(command, input=json.dumps(request).encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise CompilationFailed(done.stderr.decode(errors="replace").strip())
    return done.stdout


def _name_of(owner: type) -> tuple[str, str]:
    """Module and name of a class of a struct."""
    return owner.__module__, owner.__qualname__


def _named(module: str, name: str) -> type:
    """The class of this name."""
    found: type = getattr(importlib.import_module(module), name)
    return found


def main() -> None:
    """Answer the request."""
    from hydro_sim_core.compilation import ptx

    request = json.load(sys.stdin)
    ptx.shape_step()
    fields = frozenset((_named(*owner), field) for *owner, field in request["row_fields"])
    memory = SideBySide(MEMORY.row_structs, fields)
    code = ptx.translated(advance_world, entry_named(request["solver"]), WorldData, memory)
    structs = (request["words"], request["structs"])
    if request["processor"] == HERE:
        text = str(ptx.module_here(code, structs, request["lanes"]))
    else:
        text = ptx.ptx(code, structs, request["lanes"], request["processor"], request["threads"])
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
