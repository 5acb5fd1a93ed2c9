"""What the machine code of an entry point depends on, and a digest of it.

Looked at are the functions that it reaches, not the files they stand in: an edit of a kernel concerns the entry points
that contain it, and neither comments nor docstrings nor neighbours in the same file concern any. Of other entry points
only the signature counts, since they are called by their symbol.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hydro_sim_core.compilation.arrays import EntryLayout, Layout, StructLayout
from hydro_sim_core.compilation.contents import contents
from hydro_sim_core.compilation.kernels import Entry, Kernel, entry_named

#: Sources of this package that decide what machine code is made of a kernel.
_TRANSLATORS = ("arrays.py", "compiler.py", "contents.py", "numba_types.py")


@dataclass(frozen=True)
class Dependencies:
    """What the machine code of a kernel or an entry point depends on.

    Attributes:
        digest: Of everything below; for an entry point also of its signature and of how kernels are translated.
        kernels: Kernels that it contains, its own first.
        entries: Other entry points that it calls.
    """

    digest: str
    kernels: tuple[Kernel, ...]
    entries: tuple[Entry, ...]


@cache
def dependencies(entry: Entry) -> Dependencies:
    """Follow an entry point's calls.

    Raises:
        TypeError: A kernel uses what it cannot, or two of the entry points have one name.
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
        TypeError: A kernel uses what it cannot.
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


def callees_first(*entries: Entry) -> list[Entry]:
    """Entry points and all that they call by symbol, each after what it calls.

    Raises:
        TypeError: Some call each other in a circle, so that none could be loaded first.
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
    """Entry points like which one is passed in a value of this layout."""
    match layout:
        case EntryLayout(like):
            return {like}
        case StructLayout():
            return {like for _, field in layout.fields for like in _passed(field)}
    return set()


@cache
def _translators() -> bytes:
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for name in _TRANSLATORS:
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.digest()
