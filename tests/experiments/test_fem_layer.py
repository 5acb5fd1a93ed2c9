"""Finite elements against closed forms, our force against both, and what happens without scikit-fem."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments import fem_layer
from hydro_sim_core.experiments.elastic_layer import ElasticLayer

E = 1e5


@cache
def layer(wavelength: float, elements: int) -> ElasticLayer:
    return ElasticLayer(wavelength, 1.0, E, elements)


def test_a_flat_punch_presses_like_a_column():
    np.testing.assert_allclose(layer(2.0, 16).press(np.full(17, 0.03)), 0.03 * E, rtol=1e-9)


@pytest.mark.parametrize("depth", [3.0, 9.0])
def test_short_waves_press_as_on_a_half_space(depth):
    """Westergaard: mean pressure p* sin^2(pi c / L) with p* = pi E a / L, touching half-width c, amplitude a."""
    wavelength, amplitude = 0.25, 0.01
    pressed = layer(wavelength, 256)
    surface = amplitude * (np.cos(2.0 * np.pi * pressed.x / wavelength) - 1.0)
    pressure = pressed.press(surface + depth * amplitude)
    half_width = pressed.widths[pressure > 0.0].sum()
    assert 0.1 * wavelength < half_width < 0.4 * wavelength
    mean = 2.0 * pressure @ pressed.widths / wavelength
    full = np.pi * E * amplitude / wavelength
    expected = np.sqrt(mean / full)
    # The half-width is known to half a node's stretch.
    spacing = np.pi * pressed.widths[1] / wavelength
    assert np.sin(np.pi * half_width / wavelength) == pytest.approx(expected, abs=spacing)


@settings(max_examples=30)
@given(st.lists(st.floats(-0.05, 0.05), min_size=17, max_size=17))
def test_where_it_touches_it_presses_and_where_not_nothing_does(depth):
    depth = np.array(depth)
    pressed = layer(2.0, 16)
    pressure = pressed.press(depth)
    left = pressed._compliance @ (pressure * pressed.widths) - depth
    assert pressure.min() >= 0.0
    assert left.min() >= -1e-12
    assert np.abs(left * pressure).max() <= 1e-9 * E
    assert (pressure.max() > 0.0) == (depth.max() > 0.0)


@pytest.mark.parametrize("amplitude", [0.0, 0.3, 1.0, 4.0])
def test_springs_press_as_the_integral_of_their_depth(amplitude):
    x = np.linspace(-2.0, 2.0, 400_001)
    depth = fem_layer.DEPTH * (1.0 - amplitude * (1.0 - np.cos(2.0 * np.pi * x / 4.0)))
    force = scipy.integrate.trapezoid(np.maximum(depth, 0.0), x) * fem_layer.MODULUS
    assert fem_layer.elastic_foundation(4.0, amplitude * fem_layer.DEPTH) == pytest.approx(force, rel=1e-8)


def test_the_field_falls_short_of_elasticity_only_where_crests_alone_touch():
    report = fem_layer.run((0.0, 0.25, 1.0, 4.0), (4.0, 2.0))
    assert [c.quantity for c in report.comparisons if not c.agrees] == []
    for wavelength in ("4", "2"):
        flat, wavy, rough, point_like = report.series[f"share, wavelength {wavelength}"]
        assert flat == pytest.approx(1.0, abs=1e-9)
        assert wavy == pytest.approx(1.0, abs=1e-3)
        assert wavy > rough > point_like
    assert rough < 0.8  # of the shorter wave


def test_a_layer_two_percent_too_soft_is_noticed(monkeypatch):
    make = fem_layer.compliant_mesh
    monkeypatch.setattr(fem_layer, "compliant_mesh", lambda p, t, pressure: make(p, t, 0.98 * pressure))
    report = fem_layer.run((0.0, 4.0), (4.0,))
    wrong = {c.quantity for c in report.comparisons if not c.agrees}
    assert {"force at 0 depths", "force of springs at 0 depths", "force of springs at 4 depths"} <= wrong


def test_a_layer_without_any_force_disagrees_in_every_force(monkeypatch):
    monkeypatch.setattr(fem_layer.Pressing, "our_force", 0.0)
    report = fem_layer.run((0.0, 1.0, 4.0), (4.0,))
    forces = [c for c in report.comparisons if c.quantity.startswith("force")]
    assert len(forces) == 6
    assert not any(c.agrees for c in forces)


def test_without_scikit_fem_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "skfem", None)
    with pytest.raises(InputError, match=r"pip install 'hydro-sim-core\[fem\]'"):
        fem_layer.run((0.0, 4.0))
