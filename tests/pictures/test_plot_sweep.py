"""Plots of sweeps."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from hydro_sim_core.pictures.plot_sweep import PlotAxis, means, plot_sweep

FRICTION = PlotAxis("friction", (0.1, 0.2, 0.4), is_log=True)
LAW = PlotAxis("law", ("sap", "lagged"))
DRAWN = PlotAxis("noise", None)
POINTS = [*itertools.product(FRICTION.values, LAW.values, (0.01, 0.02))]
COLUMNS = {
    "friction": [point[0] for point in POINTS],
    "law": [point[1] for point in POINTS],
    "noise": [point[2] for point in POINTS],
    "held": [bool(k % 3) for k in range(12)],
    "force": [None if k < 3 else float(k) for k in range(12)],
}


def test_means_are_taken_over_everything_else():
    assert means(COLUMNS, [FRICTION, LAW], "force") == pytest.approx(
        np.array([[np.nan, 3.0], [4.5, 6.5], [8.5, 10.5]]), nan_ok=True
    )
    assert means(COLUMNS, [FRICTION], "held") == pytest.approx([0.5, 0.75, 0.75])


@pytest.fixture
def shown(monkeypatch):
    """Axes of the figures that would be written, which takes as long as all the rest."""
    axes = []
    monkeypatch.setattr(Figure, "savefig", lambda canvas, *_, **options: axes.extend(canvas.axes))
    return axes


@pytest.mark.parametrize(
    ("axes", "panels"),
    [
        ([FRICTION, LAW, DRAWN], 1),
        ([FRICTION, LAW, PlotAxis("noise", (0.01, 0.02))], 2),
        ([FRICTION, DRAWN], 1),
        ([LAW], 1),
        ([DRAWN, PlotAxis("friction", None, is_log=True)], 2),
        ([PlotAxis("friction", (0.1,))], 1),
    ],
)
def test_each_kind_of_sweep_has_its_plot(tmp_path, axes, panels, shown):
    plot_sweep(COLUMNS, axes, ["held", "force"], tmp_path / "plot.png", "title")
    assert len([one for one in shown if one.get_label() != "<colorbar>"]) == 2 * panels


def test_dollar_signs_of_names_and_values_are_no_formula(tmp_path):
    """As the drawing itself finds, which would end in its error."""
    broken = r"$\frac{$"
    columns = {broken: [f"{broken}a", f"{broken}b"], f"{broken}2": [True, False]}
    axis = PlotAxis(broken, tuple(columns[broken]))
    plot_sweep(columns, [axis], [f"{broken}2"], tmp_path / "plot.png", broken)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_a_heat_map_shows_the_shares(tmp_path, shown):
    """Friction to the right, laws upwards, in percent."""
    plot_sweep(COLUMNS, [FRICTION, LAW, DRAWN], ["held"], tmp_path / "plot.png", "title")
    image = shown[0].get_images()[0].get_array()
    assert np.asarray(image) == pytest.approx(100.0 * means(COLUMNS, [FRICTION, LAW], "held").T)
    assert [text.get_text() for text in shown[0].get_xticklabels()] == ["0.1", "0.2", "0.4"]
    assert [text.get_text() for text in shown[0].get_yticklabels()] == ["sap", "lagged"]


def test_values_that_are_all_the_same_or_none_are_drawn_too(tmp_path, shown):
    for value in (None, 2.0, True):
        columns = {**COLUMNS, "held": [value] * 12}
        plot_sweep(columns, [FRICTION, LAW], ["held"], tmp_path / "plot.png", "title")
        plot_sweep(columns, [FRICTION], ["held"], tmp_path / "plot.png", "title")
        plot_sweep(columns, [DRAWN], ["held"], tmp_path / "plot.png", "title")
    assert len(shown) == 3 * 4
