"""Programs that step worlds side by side: for a GPU through CuPy, and for this machine's processor, to test without."""

from __future__ import annotations

import ctypes
import hashlib
import math
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hydro_sim_core.compilation import side_by_side
from hydro_sim_core.compilation.dependencies import callees_first, dependencies, reached_by
from hydro_sim_core.compilation.gpu_programs import cupy_with_gpu, host_engine, kept_code, loaded
from hydro_sim_core.simulation.batches.compiling import compiled
from hydro_sim_core.simulation.batches.memory import Placed, Plan
from hydro_sim_core.simulation.batches.stepping import advance_world
from hydro_sim_core.simulation.stepping.step import advance

#: Threads of a block: few, so that every processor of a GPU gets some from a thousand worlds on.
THREADS = 64
_WARP = 32
#: Names in the program, see ``compilation.ptx``, which imports the compiler.
STEP_WORLDS, PLACES_VARIABLE = "hydro_step_worlds", "hydro_places"
_CPU_ONLY = "give backend='cpu'"


class Program(Protocol):
    """Steps worlds until their orders are done."""

    def run(self, memory: Placed, dt: float) -> None:
        """Step all worlds with steps of ``dt`` (s); returns before a GPU has done it."""


class CudaProgram:
    """The step on the present GPU.

    Args:
        cupy: CuPy.
        code: PTX of the step.
        lanes: Worlds a warp, as in the memory.
    """

    def __init__(self, cupy: Any, code: bytes, lanes: int) -> None:
        self._cupy, self._lanes = cupy, lanes
        self._module, kernels = loaded(cupy, code, [STEP_WORLDS])
        self._step = kernels[STEP_WORLDS]
        self._memory: Placed | None = None

    def run(self, memory: Placed, dt: float) -> None:
        """Step all worlds; see ``Program``."""
        if memory is not self._memory:
            # Once: copies to a GPU wait for what it does.
            runtime, places = self._cupy.cuda.runtime, memory.places
            variable = self._module.get_global(PLACES_VARIABLE)
            runtime.memcpy(variable.ptr, places.ctypes.data, places.nbytes, runtime.memcpyHostToDevice)
            self._memory = memory
        threads = _WARP * math.ceil(memory.n / self._lanes)
        self._step((math.ceil(threads / THREADS),), (THREADS,), (np.float64(dt),))


class HostProgram:
    """The same step for this machine's processor, one world after another, in the same memory.

    Args:
        code: Object file, see ``ptx.object_code``.
    """

    def __init__(self, code: bytes) -> None:
        self._engine = host_engine(code)
        step = ctypes.CFUNCTYPE(None, ctypes.c_double)
        self._step = step(self._engine.get_function_address(STEP_WORLDS))
        self._places = self._engine.get_global_value_address(PLACES_VARIABLE)

    def run(self, memory: Placed, dt: float) -> None:
        """Step all worlds; see ``Program``."""
        ctypes.memmove(self._places, memory.places.ctypes.data, memory.places.nbytes)
        self._step(dt)


def stored_ptx(plan: Plan, solve: Any, processor: str) -> bytes:
    """PTX of the step of a scene, from disk if it is there; else compiled, which takes minutes, and kept.

    Raises:
        CompilationFailed: It cannot be compiled.
    """
    told = "compiling the step for the GPU, once for this scene; this takes minutes"
    name = f"{_digest(plan, solve)}-{processor}"
    return kept_code(name, told, lambda: compiled(plan, solve, processor, THREADS))


def _digest(plan: Plan, solve: Any) -> str:
    """Digest of all that the step's code depends on."""
    digest = hashlib.sha256(reached_by(advance_world).digest.encode())
    for entry in callees_first(advance, solve, also_on_demand=True):
        digest.update(dependencies(entry).digest.encode())
    memory = plan.memory
    digest.update(
        repr((sorted(map(repr, memory.row_fields)), sorted(map(repr, memory.row_structs)))).encode()
    )
    digest.update(repr((plan.words, plan.structs, plan.lanes, version("llvmlite"))).encode())
    folder = Path(side_by_side.__file__).parent
    for name in ("side_by_side.py", "ptx.py"):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:24]


def present_cupy(backend: str) -> Any:
    """CuPy with a GPU that it can use.

    Raises:
        InputError: It is not installed, or finds no GPU.
    """
    return cupy_with_gpu("BatchWorld", backend, _CPU_ONLY)
