"""Which processor machine code is for."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import llvmlite.binding as llvm

#: Levels that wheels may carry machine code for, best first: LLVM's name, and features that tell a processor of it.
LEVELS = {
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "xsave"),
    "x86-64": ("sse2",),
}


@dataclass(frozen=True)
class Target:
    """A processor and what LLVM may use of it.

    Attributes:
        cpu: LLVM's name.
        features: LLVM's list of features, which may be empty.
    """

    cpu: str
    features: str

    @property
    def folder(self) -> str:
        """Name of the folder of what is compiled for it here: code by other compilers is not mixed in."""
        details = f"{self.features} {llvm.get_process_triple()} {os.environ.get('NUMBA_OPT', '')}"
        digest = hashlib.sha256(details.encode()).hexdigest()[:8]
        return f"{self.cpu}-{digest}-numba{version('numba')}-llvmlite{version('llvmlite')}"


@cache
def host() -> Target:
    """This machine's processor, or what ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` say."""
    cpu = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if cpu == "generic" else llvm.get_host_cpu_features().flatten()
    return Target(cpu, features)


def levels_of_this_machine() -> list[str]:
    """Levels whose machine code runs here, best first; none where another processor is asked for."""
    if "NUMBA_CPU_NAME" in os.environ or not llvm.get_process_triple().startswith("x86_64-"):
        return []
    has = llvm.get_host_cpu_features()
    return [level for level, features in LEVELS.items() if all(has.get(feature) for feature in features)]
