"""Writes ``include/hydro_sim_layout.h``, the layout for C and C++, from ``layout.py``.

python -m hydro_sim_core.shared_memory.c_header
"""

from __future__ import annotations

import inspect
import re
from enum import IntEnum
from pathlib import Path
from typing import Any

from hydro_sim_core.shared_memory import layout

#: Folder of the headers; ``python -m hydro_sim_core.shared_memory`` prints it for compilers.
INCLUDE = Path(__file__).parent / "include"
FILE = INCLUDE / "hydro_sim_layout.h"

_HEAD = """\
/* Layout of the shared memory of a running simulation, version {major}.{minor}.
 *
 * Written by hydro_sim_core/shared_memory/c_header.py from layout.py: change that one. hydro_sim.h beside it has
 * functions that use it; docs/shared_memory.md and decision 31 say who writes what, and in which memory order.
 *
 * A word has eight bytes; its number counts from the begin of the segment, or of its row. It is an int64_t, or a double
 * where it says so.
 */
#ifndef HYDRO_SIM_LAYOUT_H
#define HYDRO_SIM_LAYOUT_H

#include <stdint.h>

#define HYDRO_SIM_MAGIC INT64_C({magic})
#define HYDRO_SIM_MAJOR {major}
#define HYDRO_SIM_MINOR {minor}
#define HYDRO_SIM_OWNER_LOCK {owner_lock} /* byte that the owner keeps locked */
#define HYDRO_SIM_CHANNEL_LOCK {channel_lock} /* byte that the client of channel 0 keeps locked */
#define HYDRO_SIM_NAME_WORDS {name_words}
#define HYDRO_SIM_NUM_BINS {num_bins}
#define HYDRO_SIM_NUM_DROPS {num_drops}
#define HYDRO_SIM_SHORTEST {shortest!r}
#define HYDRO_SIM_BIN_WIDTH {bin_width!r}
"""
_TOLD = re.compile(r"^    (\w+) = \(?\s*\d+\s*#: (.*)$", re.MULTILINE)


def header_text() -> str:
    """The text of the header."""
    parts = [
        _HEAD.format(
            major=layout.MAJOR,
            minor=layout.MINOR,
            magic=layout.MAGIC,
            owner_lock=layout.OWNER_LOCK,
            channel_lock=layout.CHANNEL_LOCK,
            name_words=layout.NAME_WORDS,
            num_bins=layout.NUM_BINS,
            num_drops=layout.NUM_DROPS,
            shortest=layout.SHORTEST,
            bin_width=layout.BIN_WIDTH,
        )
    ]
    parts += [_enumeration(section) for section in sections()]
    return "\n".join([*parts, "#endif\n"])


def sections() -> list[type[IntEnum]]:
    """All enumerations of the layout, in the order of its source."""
    found: list[Any] = [
        value
        for value in vars(layout).values()
        if inspect.isclass(value) and issubclass(value, int) and value.__module__ == layout.__name__
    ]
    return sorted(found, key=lambda section: inspect.getsourcelines(section)[1])


def constant(section: type[IntEnum], name: str) -> str:
    """What a member is called in C."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", section.__name__).upper()
    return f"HYDRO_SIM_{words}_{name}"


def _enumeration(section: type[IntEnum]) -> str:
    told = dict(_TOLD.findall(inspect.getsource(section)))
    lines = [f"/* {_plain(inspect.getdoc(section) or '')} */", "enum {"]
    members = list(section.__members__.items())
    for i, (name, value) in enumerate(members):
        is_real = name in layout.REALS.get(section, ())
        comment = "; ".join(
            text for text in ("double" if is_real else "", _plain(told.get(name, ""))) if text
        )
        comma = "," if i < len(members) - 1 else ""
        lines.append(
            f"    {constant(section, name)} = {value.value}{comma}" + (f" /* {comment} */" if comment else "")
        )
    return "\n".join([*lines, "};", ""])


def _plain(text: str) -> str:
    return " ".join(text.replace("``", "").split())


if __name__ == "__main__":
    FILE.write_text(header_text())
    print(f"written to {FILE}")
