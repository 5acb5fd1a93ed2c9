"""Dependencies of the machine code of an entry point, and their digest.

Dependencies are functions, not files: an edit of a kernel affects only the entry points that contain it; comments,
docstrings and other functions in the same file affect none. Of other entry points that it calls only the signature
counts, since they are called by their symbol.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hydro_sim_core.compilation.arrays import EntryLayout, Layout, StructLayout
from hydro_sim_core.compilation.contents import contents
from hydro_sim_core.compilation.kernels import Entry, Kernel, entry_named

#: Sources of this package that determine how kernels are translated to machine code.
_TRANSLATORS = (
    "arrays.py",
    "c_calls.py",
    "compiler.py",
    "contents.py",
    "indices.py",
    "instructions.py",
    "numba_instructions.py",
    "numba_types.py",
)


@dataclass(frozen=True)
class Dependencies:
    """Dependencies of the machine code of a kernel or an entry point.

    Attributes:
        digest: Digest of everything below; for an entry point also of its signature and of the translator's sources.
        kernels: Contained kernels, its own first.
        entries: Called entry points.
    """

    digest: str
    kernels: tuple[Kernel, ...]
    entries: tuple[Entry, ...]


@cache
def dependencies(entry: Entry) -> Dependencies:
    """Follow an entry point's calls.

    Raises:
        TypeError: A kernel uses a value that it may not, or two of the entry points have the same name.
    """
    reached = reached_by(entry.kernel)
    named = {entry.symbol: entry}
    for called in reached.entries:
        if named.setdefault(called.symbol, called) is not called:
            raise TypeError(f"{entry.symbol} calls another entry point of the name {called.symbol}")
    digest = hashlib.sha256(_translators() + signature(entry).encode() + reached.digest.encode())
    return Dependencies(digest.hexdigest()[:24], reached.kernels, reached.entries)


@cache
def reached_by(kernel: Kernel) -> Dependencies:
    """Follow a kernel's calls.

    Raises:
        TypeError: A kernel uses a value that it may not.
    """
    digest = hashlib.sha256()
    numbers = {kernel: 0}
    entries: dict[Entry, None] = {}
    waiting = [kernel]
    for one in waiting:
        found = contents(one)
        digest.update(found.digest)
        for called in found.called:
            if isinstance(called, Entry):
                entries[called] = None
                digest.update(f"calls {signature(called)};".encode())
                continue
            if called not in numbers:
                numbers[called] = len(numbers)
                waiting.append(called)
            digest.update(f"contains {numbers[called]};".encode())
    return Dependencies(digest.hexdigest(), tuple(numbers), tuple(entries))


def callees_first(*entries: Entry, also_on_demand: bool = False) -> list[Entry]:
    """Entry points and all that they call by symbol, callees before callers.

    Args:
        *entries: The entry points.
        also_on_demand: Whether to follow calls of those on demand.

    Raises:
        TypeError: Entry points call each other in a cycle, so that none could be loaded first.
    """
    order: dict[Entry, None] = {}
    path: list[Entry] = []

    def visit(entry: Entry) -> None:
        if entry in path:
            circle = " calls ".join(one.symbol for one in [*path[path.index(entry) :], entry])
            raise TypeError(f"entry points may not call each other in a circle: {circle}")
        if entry in order:
            return
        path.append(entry)
        for called in dependencies(entry).entries:
            if also_on_demand or not called.on_demand:
                visit(called)
        path.pop()
        order[entry] = None

    for entry in entries:
        visit(entry)
    return list(order)


def signature(entry: Entry) -> str:
    """An entry point's symbol, the layout of its arguments and result, and the signatures of entry points passed."""
    texts: dict[str, str] = {}
    waiting = [entry]
    for one in waiting:
        if one.symbol in texts:
            continue
        parameters = ", ".join(f"{name}: {layout}" for name, layout in one.parameters)
        texts[one.symbol] = f"{one.symbol}({parameters}) -> {one.result}"
        waiting += map(
            entry_named, sorted({like for _, layout in one.parameters for like in _passed(layout)})
        )
    return "; ".join(texts.values())


def _passed(layout: Layout) -> set[str]:
    """Full names of the entry points whose signature an ``EntryLayout`` within this layout refers to."""
    match layout:
        case EntryLayout(like):
            return {like}
        case StructLayout():
            return {like for _, field in layout.fields for like in _passed(field)}
    return set()


@cache
def _translators() -> bytes:
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    digest.update(os.environ.get("HYDRO_SIM_CHECK_INDICES", "").encode())
    for name in _TRANSLATORS:
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.digest()
