"""The plot of where trials fail shows each trial, and shares that are those of the trials."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.plot_trials import plot_trials, success_shares

NAMES = ("friction of stove, %", "start along x, mm", "pitch")


def trials_of(count, phases=("leave",)):
    """Those fail in turn whose friction is above 10 %, each to another phase."""
    rng = np.random.default_rng(3)
    trials = []
    for seed in range(count):
        drawn = dict(zip(NAMES, rng.uniform(-20.0, 20.0, 3).tolist(), strict=True))
        failed = drawn[NAMES[0]] > 10.0
        phase = phases[seed % len(phases)] if failed else "end"
        trials.append({"seed": seed, "succeeded": not failed, "phase": phase, "drawn": drawn})
    return trials


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Plot trials, and give back the figure."""
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))

    def plot(trials):
        plot_trials(trials, tmp_path / "trials.png", "flip")
        assert (tmp_path / "trials.png").read_bytes().startswith(b"\x89PNG")
        return figures[-1]

    return plot


def test_each_quantity_has_a_panel_with_every_trial(drawn):
    trials = trials_of(40)
    canvas = drawn(trials)
    panels = [axes for axes in canvas.axes if axes.get_xlabel()]
    assert [axes.get_xlabel() for axes in panels] == ["friction of stove [%]", "start along x [mm]", "pitch"]
    for axes, name in zip(panels, NAMES, strict=True):
        points = np.concatenate([marks.get_offsets() for marks in axes.collections])
        assert sorted(points[:, 0]) == sorted(trial["drawn"][name] for trial in trials)
    succeeded = sum(trial["succeeded"] for trial in trials)
    assert 0 < succeeded < 40
    assert canvas.get_suptitle() == f"flip: {succeeded} of 40 succeeded"
    behind, heights = np.array([bar.get_height() for bar in panels[0].patches]).reshape(2, -1)
    assert np.all(behind == 100.0)
    assert heights[0] == 100.0
    assert heights[-1] == 0.0


def test_phases_in_which_trials_failed_are_counted_in_the_legend(drawn):
    phases = ("grasp", "scoop", "lift", "turn", "leave")
    trials = trials_of(200, phases)
    (legend,) = drawn(trials).legends
    told = [text.get_text() for text in legend.get_texts()]
    assert told[:2] == ["share that succeeded", "succeeded"]
    assert len(told) == 2 + 4  # the rarest share a mark
    counts = [int(text.rpartition(": ")[2]) for text in told[2:]]
    assert sum(counts) == sum(not trial["succeeded"] for trial in trials)
    assert told[-1].startswith("failed otherwise")
    assert all(text.startswith("failed in phase '") for text in told[2:-1])


def test_dollar_signs_of_names_are_no_formula(drawn):
    """As the drawing itself finds, which would end in its error."""
    broken = r"pay $\frac{$ now"
    trials = [{**one, "drawn": {f"{broken}, mm": 1.0}} for one in trials_of(10, (broken,))]
    canvas = drawn(trials)
    (axes,) = canvas.axes
    assert axes.get_xlabel() == r"pay \$\frac{\$ now [mm]"
    assert any(r"\$\frac" in text.get_text() for text in canvas.legends[0].get_texts())


def test_what_is_drawn_and_is_no_number_is_in_no_range():
    """Reports have None there."""
    values = np.array([0.0, np.inf, 1.0, np.nan])
    edges, shares = success_shares(values, np.array([True, True, True, False]))
    np.testing.assert_array_equal(edges, [0.0, 1.0])
    np.testing.assert_array_equal(shares, [1.0])


def test_shares_are_of_the_trials_in_a_range():
    values = np.array([0.0, 0.1, 0.2, 0.9, 1.0, 0.95, 0.15, 0.05, 0.92, 0.03])
    edges, shares = success_shares(values, values < 0.93)
    np.testing.assert_allclose(edges, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(shares, [1.0, 0.5])


def test_a_range_without_trials_has_no_share():
    values = np.concatenate([np.linspace(0.0, 0.2, 10), np.linspace(0.8, 1.0, 10)])
    _, shares = success_shares(values, np.ones(20, dtype=bool))
    np.testing.assert_array_equal(shares, [1.0, np.nan, np.nan, 1.0])


def test_a_quantity_that_some_have_drawn_shows_those(drawn):
    trials = trials_of(12)
    for trial in trials[:5]:
        trial["drawn"]["only some, mm"] = 1.0 + trial["seed"]
    panel = drawn(trials).axes[3]
    assert panel.get_xlabel() == "only some [mm]"
    points = np.concatenate([np.asarray(marks.get_offsets()) for marks in panel.collections])
    assert sorted(points[np.isfinite(points[:, 0]), 0]) == [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("trials", [[], [{**trials_of(1)[0], "drawn": {}}]])
def test_trials_that_have_drawn_nothing_are_refused(tmp_path, trials):
    with pytest.raises(InputError, match="they have drawn nothing"):
        plot_trials(trials, tmp_path / "trials.png")
