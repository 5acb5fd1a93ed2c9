"""Plot of where trials of a task fail, over what their seeds have drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.figures import figure, literal
from hydro_sim_core.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
#: As the report of ``hydro-sim task --seeds`` has it.
Row = Mapping[str, Any]

_INK, _QUIET = "#333333", "#8fa9c4"
_SUCCEEDED, _BAR, _BEHIND = "#1f5fa8", "#c9d9ea", "#f1f4f8"
#: Colours of the phases in which trials failed, the most frequent one first; the last is that of all others.
_FAILED = ("#c44e24", "#8a2f8f", "#d9a21b", "#4a4a4a")
_MARKS = ("X", "P", "D", "s")
_MOST_COLUMNS, _PANEL_WIDTH, _PANEL_HEIGHT = 5, 2.7, 2.1  # inches
#: Trials in a bar on average, and the most bars.
_IN_A_BAR, _MOST_BARS = 5, 8
#: Strip of the trials above the bars, whose height is 100 %.
_STRIP = 112.0, 158.0


def plot_trials(trials: Sequence[Row], path: str | Path, title: str = "") -> None:
    """Plot trials over each quantity that was drawn: how many succeed there, and each one with how it ended.

    Args:
        trials: Trials with ``seed``, ``succeeded``, ``phase`` and ``drawn``; a panel shows those that have drawn its
            quantity.
        path: PNG file.
        title: Before the count in the title, such as the task's name.

    Raises:
        InputError: Nothing was drawn, matplotlib is not installed, or the file cannot be written.
    """
    names = list(dict.fromkeys(name for trial in trials for name in trial["drawn"]))
    if not names:
        mend = "give trials of a task with seeds, as hydro-sim task NAME --seeds COUNT makes them"
        raise InputError("trials", "drawn", "they have drawn nothing", mend)
    failed = Counter(trial["phase"] for trial in trials if not trial["succeeded"])
    styles = {phase: min(rank, len(_FAILED) - 1) for rank, (phase, _) in enumerate(failed.most_common())}
    rows = math.ceil(len(names) / _MOST_COLUMNS)
    columns = math.ceil(len(names) / rows)
    with figure(Path(path), columns * _PANEL_WIDTH, rows * _PANEL_HEIGHT + 1.0) as canvas:
        panels = canvas.subplots(rows, columns, squeeze=False).ravel()
        for axes, name in zip(panels, names, strict=False):
            _draw_quantity(axes, name, trials, styles)
        for axes in panels[len(names) :]:
            axes.set_axis_off()
        for axes in panels[: len(names) : columns]:
            axes.set_ylabel("succeeded [%]", color=_INK, y=0.32)
        count = len(trials) - sum(failed.values())
        told = f"{title}: {count} of {len(trials)} succeeded".removeprefix(": ")
        canvas.suptitle(literal(told), color=_INK)
        _add_legend(canvas, failed, styles)


def _draw_quantity(axes: Axes, name: str, trials: Sequence[Row], styles: Mapping[str, int]) -> None:
    # NaN for None, and where a trial has not drawn it.
    values = np.array([trial["drawn"].get(name) for trial in trials], dtype=float)
    good = np.array([trial["succeeded"] for trial in trials], dtype=bool)
    edges, shares = success_shares(values, good)
    # Behind the bars what 100 % would be, so that ranges without trials are not those where all fail.
    tried = np.where(np.isnan(shares), np.nan, 1.0)
    for part, colour in ((tried, _BEHIND), (shares, _BAR)):
        look: dict[str, Any] = {"align": "edge", "color": colour, "edgecolor": "white", "linewidth": 1.5}
        axes.bar(edges[:-1], 100.0 * part, width=np.diff(edges), **look)
    heights = _STRIP[0] + (_STRIP[1] - _STRIP[0]) * _spread(len(trials))
    axes.scatter(values[good], heights[good], s=13, color=_SUCCEEDED, alpha=0.55, linewidths=0)
    for k in np.flatnonzero(~good):
        style = styles[trials[int(k)]["phase"]]
        axes.scatter(values[k], heights[k], s=34, color=_FAILED[style], marker=_MARKS[style], linewidths=0)
    quantity, comma, unit = name.rpartition(", ")
    axes.set_xlabel(literal(f"{quantity} [{unit}]" if comma else name), color=_INK)
    axes.set_ylim(0.0, 166.0)
    axes.set_yticks([0.0, 50.0, 100.0])
    axes.axhline(100.0, color=_QUIET, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=_INK, labelsize=9)


def success_shares(values: Array, good: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Shares of trials that succeeded, over ranges of a quantity that are equally wide.

    Args:
        values: (N,) the quantity; where it is not finite, it is in no range.
        good: (N,) whether the trial succeeded.

    Returns:
        (B + 1,) ends of the ranges, and (B,) shares, NaN where no trial is.
    """
    known = np.isfinite(values)
    count = min(max(int(known.sum()) // _IN_A_BAR, 1), _MOST_BARS)
    tried, edges = np.histogram(values[known], bins=count)
    succeeded, _ = np.histogram(values[known & good], bins=edges)
    shares = np.full(count, np.nan)
    np.divide(succeeded, tried, out=shares, where=tried > 0)
    return edges, shares


def _spread(count: int) -> Array:
    """Heights from 0 to 1 that keep neighbours apart: multiples of the golden section."""
    return np.asarray((0.5 + np.arange(count) * (math.sqrt(5.0) - 1.0) / 2.0) % 1.0)


def _add_legend(canvas: Figure, failed: Counter[str], styles: Mapping[str, int]) -> None:
    """Marks and bars in words; the phases in which trials failed with their counts."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=_BAR, label="share that succeeded"),
        Line2D([], [], color=_SUCCEEDED, marker="o", linestyle="", markersize=4, label="succeeded"),
    ]
    last = len(_FAILED) - 1
    words: dict[int, str] = {}
    for phase, number in failed.most_common():
        style = styles[phase]
        others = sum(failed[one] for one in failed if styles[one] == last)
        words.setdefault(style, literal(f"failed in phase '{phase}': {number}"))
        if style == last and len(failed) > len(_FAILED):
            words[style] = f"failed otherwise: {others}"
    for style, label in words.items():
        handles.append(
            Line2D(
                [], [], color=_FAILED[style], marker=_MARKS[style], linestyle="", markersize=6, label=label
            )
        )
    canvas.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
