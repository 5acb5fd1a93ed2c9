"""Plot of a sweep: a heat map over two axes of its grid, else lines over one, else points over what was drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.drawing.figures import figure, literal
from hydro_sim_core.drawing.viridis import VIRIDIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Columns = Mapping[str, Sequence[Any]]

_INK, _QUIET, _LINE, _NOTHING = "#333333", "#8fa9c4", "#1f5fa8", "#e6e6e6"
#: Most panels beside each other, for a third axis; a longer one is averaged over.
_MOST_PANELS = 4
#: Most cells of a heat map with their number in them.
_MOST_NUMBERS = 120
_PANEL_WIDTH, _PANEL_HEIGHT = 4.4, 3.6  # inches


@dataclass(frozen=True)
class PlotAxis:
    """A varied value.

    Attributes:
        name: Of its column.
        values: Values of the grid, in their order; None if they were drawn.
        is_log: Whether equal factors are equal distances.
    """

    name: str
    values: Sequence[Any] | None
    is_log: bool = False


def plot_sweep(
    columns: Columns, axes: Sequence[PlotAxis], measures: Sequence[str], path: str | Path, title: str
) -> None:
    """Plot what was measured over what was varied; samples that have no value are left out.

    The first two axes of the grid span heat maps, a short third one gives each of its values a map of its own, and over
    everything else the mean is taken, of truths the share.

    Args:
        columns: Values of all samples by name.
        axes: What was varied.
        measures: Names of the columns to draw, a row of panels each.
        path: PNG file.
        title: Title.

    Raises:
        InputError: matplotlib is not installed, or the file cannot be written.
    """
    grid = [axis for axis in axes if axis.values is not None and len(axis.values) > 1]
    drawn = [axis for axis in axes if axis.values is None]
    third = grid[2] if len(grid) > 2 and len(grid[2].values or ()) <= _MOST_PANELS else None
    panels = len(third.values or ()) if third else max(1, 1 if grid else len(drawn))
    with figure(Path(path), panels * _PANEL_WIDTH + 0.6, len(measures) * _PANEL_HEIGHT + 0.7) as canvas:
        shown = [*grid[:2], *([third] if third else [])] if grid else drawn
        over = [_short(axis.name) for axis in [*grid, *drawn] if axis not in shown]
        told = literal(title) + (f", mean over {', '.join(over)}" if over else "")
        canvas.suptitle(told, color=_INK, fontsize=11)
        for row, measure in zip(canvas.subplots(len(measures), panels, squeeze=False), measures, strict=True):
            if len(grid) >= 2:
                _draw_maps(canvas, row, columns, grid, third, measure)
            elif grid:
                _draw_lines(row[0], columns, grid[0], measure)
            else:
                for panel, axis in zip(row, drawn, strict=False):
                    _draw_points(panel, columns, axis, measure)


def means(columns: Columns, axes: Sequence[PlotAxis], measure: str) -> Array:
    """Mean of a measure at every point of some axes' grid, NaN where no sample has a value.

    Returns:
        (n_1, n_2, ...) for axes with n_1, n_2, ... values.
    """
    values = [list(axis.values or ()) for axis in axes]
    places = [{repr(value): k for k, value in enumerate(one)} for one in values]
    total = np.zeros([len(one) for one in values])
    count = np.zeros(total.shape)
    for index, value in enumerate(columns[measure]):
        if value is not None:
            at = tuple(of[repr(columns[axis.name][index])] for axis, of in zip(axes, places, strict=True))
            total[at] += value
            count[at] += 1.0
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0.0)


def _scale(columns: Columns, measure: str) -> tuple[float, str]:
    """Factor and label of a measure: of truths, the share in percent."""
    is_truth = {type(value) for value in columns[measure] if value is not None} == {bool}
    return (100.0, f"{literal(measure)} [%]") if is_truth else (1.0, literal(measure))


def _draw_maps(
    canvas: Figure,
    row: Sequence[Axes],
    columns: Columns,
    grid: Sequence[PlotAxis],
    third: PlotAxis | None,
    measure: str,
) -> None:
    from matplotlib.colors import ListedColormap

    x, y = grid[:2]
    factor, label = _scale(columns, measure)
    split: Sequence[Any] = (third.values or ()) if third else [None]
    maps = factor * means(columns, [x, y, *([third] if third else [])], measure).reshape(
        len(x.values or ()), len(y.values or ()), len(split)
    )
    low, high = (0.0, 100.0) if factor == 100.0 else _range(maps)
    colours = ListedColormap(VIRIDIS / 255.0).with_extremes(bad=_NOTHING)
    images = []
    for k, panel in enumerate(row):
        values = maps[:, :, k].T
        images.append(panel.imshow(values, origin="lower", aspect="auto", cmap=colours, vmin=low, vmax=high))
        _ticks(panel, x, y)
        if third is not None:
            panel.set_title(f"{_short(third.name)} = {_told(split[k])}", color=_INK, fontsize=10)
        if values.size <= _MOST_NUMBERS:
            _write_numbers(panel, values, low, high)
    bar = canvas.colorbar(images[0], ax=list(row), shrink=0.9, pad=0.02)
    bar.set_label(label, color=_INK)
    bar.outline.set_visible(False)  # type: ignore[operator]  # matplotlib's stubs call it a list


def _range(values: Array) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _ticks(panel: Axes, x: PlotAxis, y: PlotAxis) -> None:
    """Values of the grid at its rows and columns, as many as there is room for."""
    for axis, ticks, label, most in (
        (x, panel.set_xticks, panel.set_xlabel, 7),
        (y, panel.set_yticks, panel.set_ylabel, 10),
    ):
        values = list(axis.values or ())
        places = range(0, len(values), math.ceil(len(values) / most))
        ticks(list(places), [_told(values[k]) for k in places])
        label(_short(axis.name), color=_INK)
    panel.tick_params(colors=_INK, labelsize=9, length=0)
    panel.spines[:].set_visible(False)


def _write_numbers(panel: Axes, values: Array, low: float, high: float) -> None:
    for (j, k), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "white" if (value - low) / (high - low) < 0.6 else _INK
            text = f"{value:.0f}" if abs(value) >= 100.0 or float(value).is_integer() else f"{value:.2g}"
            panel.text(k, j, text, ha="center", va="center", color=colour, fontsize=8)


def _draw_lines(panel: Axes, columns: Columns, axis: PlotAxis, measure: str) -> None:
    """The mean as a line, and the range of all samples behind it."""
    factor, label = _scale(columns, measure)
    values = list(axis.values or ())
    is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    places = values if is_number else list(range(len(values)))
    if factor == 1.0:
        low, high = _extent(columns, axis, measure)
        panel.fill_between(places, low, high, color=_QUIET, alpha=0.35, linewidth=0)
    panel.plot(places, factor * means(columns, [axis], measure), color=_LINE, marker="o", markersize=4)
    if axis.is_log:
        panel.set_xscale("log")
    if not is_number:
        panel.set_xticks(places, [_told(value) for value in values])
    _finish(panel, axis, label, factor)


def _extent(columns: Columns, axis: PlotAxis, measure: str) -> tuple[Array, Array]:
    """Least and largest value at each value of an axis, NaN where there is none."""
    low, high = [], []
    for value in axis.values or ():
        of = [
            v
            for v, at in zip(columns[measure], columns[axis.name], strict=True)
            if at == value and v is not None
        ]
        low.append(min(of, default=math.nan))
        high.append(max(of, default=math.nan))
    return np.array(low, dtype=float), np.array(high, dtype=float)


def _draw_points(panel: Axes, columns: Columns, axis: PlotAxis, measure: str) -> None:
    """Every sample as a point; truths are spread around theirs, so that many can be told apart."""
    factor, label = _scale(columns, measure)
    known = [
        (columns[axis.name][k], factor * float(v)) for k, v in enumerate(columns[measure]) if v is not None
    ]
    at, heights = (np.array([pair[k] for pair in known]) for k in (0, 1))
    if factor == 100.0:  # multiples of the golden section keep neighbours apart
        heights = heights + 16.0 * ((np.arange(len(heights)) * (math.sqrt(5.0) - 1.0) / 2.0) % 1.0 - 0.5)
    panel.scatter(at, heights, s=13, color=_LINE, alpha=0.55, linewidths=0)
    if axis.is_log:
        panel.set_xscale("log")
    _finish(panel, axis, label, factor)


def _finish(panel: Axes, axis: PlotAxis, label: str, factor: float) -> None:
    panel.set_xlabel(_short(axis.name), color=_INK)
    panel.set_ylabel(label, color=_INK)
    if factor == 100.0:
        panel.set_ylim(-10.0, 110.0)
        panel.set_yticks([0.0, 50.0, 100.0])
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(colors=_INK, labelsize=9)


def _short(name: str) -> str:
    """A path as figures write it, without the part that says no more than where it is."""
    return literal(name.removeprefix("models."))


def _told(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else literal(str(value))
