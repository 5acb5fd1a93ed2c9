"""Target processors of machine code."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import llvmlite.binding as llvm

#: Processor levels by architecture, best first, as targets that fit many processors: LLVM's name, and the features that
#: identify a processor of the level.
LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {
        "x86-64-v3": (
            "avx",
            "avx2",
            "bmi",
            "bmi2",
            "cx16",
            "f16c",
            "fma",
            "lzcnt",
            "movbe",
            "popcnt",
            "xsave",
        ),
        "x86-64": ("sse2",),
    },
    "aarch64": {"generic": ()},
}


@dataclass(frozen=True)
class Target:
    """A processor and the features of it that LLVM may use.

    Attributes:
        cpu: LLVM's name of the processor.
        features: LLVM's list of features beyond those that every such processor has; may be empty.
    """

    cpu: str
    features: str

    @property
    def folder(self) -> str:
        """Name of the cache folder of this target; it names the compiler's version, so that versions are not mixed."""
        digest = hashlib.sha256(f"{self.features} {llvm.get_process_triple()}".encode()).hexdigest()[:8]
        return f"{self.cpu}-{digest}-numba{version('numba')}-llvmlite{version('llvmlite')}"


@cache
def host() -> Target:
    """This machine's processor, unless ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` select another."""
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if name else llvm.get_host_cpu_features().flatten()
    return Target(name or llvm.get_host_cpu_name(), features)


def levels() -> dict[Target, tuple[str, ...]]:
    """Levels of this machine's architecture, best first, with the features that each requires."""
    architecture = llvm.get_process_triple().partition("-")[0].replace("arm64", "aarch64")
    return {Target(name, ""): needed for name, needed in LEVELS.get(architecture, {}).items()}


def levels_of_this_machine() -> list[Target]:
    """Levels whose machine code runs on this machine, best first; none if another processor is selected."""
    if os.environ.get("NUMBA_CPU_NAME"):
        return []
    has = llvm.get_host_cpu_features()
    return [level for level, needed in levels().items() if all(has.get(feature) for feature in needed)]
