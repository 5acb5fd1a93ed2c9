"""Figures without a display, by matplotlib, an optional dependency that is imported when the first one is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError

if TYPE_CHECKING:
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure


def require_matplotlib() -> None:
    """Check that matplotlib is installed, before anything is computed for a figure.

    Raises:
        InputError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        mend = "install it: pip install 'hydro-sim-core[plot]'"
        raise InputError("plot", "matplotlib", "is not installed", mend)


@contextmanager
def figure(path: Path, width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure and write it at the end of the context.

    Args:
        path: PNG file to write.
        width: Inches.
        height: Inches.

    Raises:
        InputError: matplotlib is not installed or the file cannot be written.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    yield canvas
    try:
        canvas.savefig(path, dpi=130, format="png")
    except OSError as error:
        raise InputError(
            path, "", error.strerror or "cannot be written", "give a file that can be written"
        ) from None


def literal(text: str) -> str:
    """Text of a user as a figure writes it: a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def pressure_colours() -> ListedColormap:
    """Colours of the pressure scale as a matplotlib colour map; for use in a ``figure``."""
    from matplotlib.colors import ListedColormap

    scale = PressureScale()
    return ListedColormap(scale.table() / 255.0, name=scale.name)
