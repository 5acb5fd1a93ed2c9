"""Programs of ``benchmarks/``, imported as they import each other."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@contextmanager
def imported(name: str) -> Iterator[ModuleType]:
    """The program ``name`` as a module, which is forgotten afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield importlib.import_module(name)
        sys.modules.pop(name, None)
