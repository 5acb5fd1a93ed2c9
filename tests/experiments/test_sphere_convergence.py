"""The order of convergence is measured, bounded, drawn, and would be missed if it were another."""

from __future__ import annotations

import pytest

from hydro_sim_core.experiments import sphere_convergence

COARSE = (0.04, 0.02, 0.01)


def test_the_force_on_a_half_space_converges_at_second_order(tmp_path):
    report = sphere_convergence.run(COARSE)
    assert [c.quantity for c in report.comparisons if not c.agrees] == []
    # Two pairs: the order, and the force with every mesh.
    assert len(report.comparisons) == 2 * (1 + len(COARSE))
    for pair in sphere_convergence.PAIRS:
        coarse, medium, fine = report.series[f"error, {pair.name}"]
        assert 0.1 < coarse < 0.2
        assert coarse / medium == pytest.approx(4.0, abs=0.3)
        assert medium / fine == pytest.approx(4.0, abs=0.1)
    picture = tmp_path / "convergence.png"
    sphere_convergence.plot(report, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("shrink", [lambda resolution: 0.1 * resolution, lambda resolution: 2e-4])
def test_an_error_of_lower_order_is_noticed(monkeypatch, shrink):
    make = sphere_convergence.sphere

    def smaller(radius, *, resolution, modulus):
        return make(radius - shrink(resolution), resolution=resolution, modulus=modulus)

    monkeypatch.setattr(sphere_convergence, "sphere", smaller)
    report = sphere_convergence.run(COARSE)
    orders = [c for c in report.comparisons if c.quantity.startswith("order")]
    assert len(orders) == 2
    assert not any(c.agrees for c in orders)
