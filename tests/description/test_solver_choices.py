"""Friction law, method and integrator: what a scene leaves open follows, and what excludes each other is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

import hydro_sim_core as hs
from hydro_sim_core.description import solver_choices
from hydro_sim_core.description.scene_solver import SolverSettings
from hydro_sim_core.description.solver_choices import (
    Contradiction,
    FrictionLaw,
    Integrator,
    SolverMethod,
    choose,
    friction_laws,
    integrators,
    solver_methods,
)
from hydro_sim_core.errors import InputError


def chosen(**settings: Any) -> tuple[str, str | None, str]:
    choice = SolverSettings(**settings).choice
    return choice.law.name, choice.method.name if choice.method else None, choice.integrator.name


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ("lagged", "newton", "fixed")),
        ({"friction": "similar"}, ("similar", "newton", "fixed")),
        ({"friction": "coulomb"}, ("coulomb", "tamsi", "fixed")),
        ({"method": "tamsi"}, ("coulomb", "tamsi", "fixed")),
        ({"method": "newton", "friction": "sap"}, ("sap", "newton", "fixed")),
        ({"accuracy": 1e-4}, ("lagged", "newton", "error_controlled")),
        ({"integrator": "continuous"}, ("coulomb", None, "continuous")),
        (
            {"integrator": "continuous", "friction": "coulomb", "accuracy": 1e-5},
            ("coulomb", None, "continuous"),
        ),
        ({"model": "lagged"}, ("lagged", "newton", "fixed")),
        ({"model": "sap", "method": "newton"}, ("sap", "newton", "fixed")),
        ({"model": "tamsi", "accuracy": 1e-4}, ("coulomb", "tamsi", "error_controlled")),
        ({"model": "continuous"}, ("coulomb", None, "continuous")),
    ],
)
def test_what_is_left_open_follows(settings: dict[str, Any], expected: tuple[str, str | None, str]) -> None:
    assert chosen(**settings) == expected


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"method": "newton", "friction": "coulomb"},
            "does not solve with friction coulomb; choose friction from",
        ),
        (
            {"method": "tamsi", "friction": "sap"},
            "does not solve with friction sap; choose friction from coulomb",
        ),
        ({"integrator": "continuous", "friction": "sap"}, "has friction coulomb; leave friction sap out"),
        ({"integrator": "continuous", "method": "newton"}, "solves no steps by a method"),
        ({"integrator": "error_controlled"}, "error_controlled without accuracy; give accuracy"),
        ({"integrator": "fixed", "accuracy": 1e-4}, "accuracy does nothing with integrator fixed"),
        (
            {"model": "sap", "friction": "similar"},
            "model sap beside friction similar; leave model out, or set it to null",
        ),
        ({"friction": "sap", "relag": False}, "relag does nothing with friction sap"),
        (
            {"integrator": "continuous", "tolerance": 1e-6},
            "tolerance does nothing with integrator continuous",
        ),
        ({"friction": "oily"}, "'lagged', 'similar'"),
        ({"model": "magic"}, "'lagged', 'similar'"),
        (
            {"method": "pgs", "friction": "similar"},
            "does not solve with friction similar; choose friction from sap",
        ),
    ],
)
def test_choices_that_exclude_each_other_are_told(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(told)):
        SolverSettings(**settings)


def test_every_pair_that_a_table_allows_steps() -> None:
    """A ball on the ground rests there under every law, method and integrator."""
    for law in friction_laws().values():
        for method in solver_methods().values():
            if method.solves(law):
                # Of 400 steps one takes some 10,000 sweeps, as many as there are by default, a few more or less by CPU.
                most = {"max_iterations": 40_000} if method.name == "pgs" else {}
                check_rest({"friction": law.name, "method": method.name, **most})
    for integrator in integrators().values():
        accuracy = {"accuracy": 1e-5} if integrator.accuracy == "needed" else {}
        check_rest({"integrator": integrator.name, **accuracy})


def check_rest(settings: dict[str, Any]) -> None:
    builder = hs.SceneBuilder("rest", solver=settings)
    builder.add_ground()
    ball = builder.add_body("ball", mass=0.5, xyz=(0.0, 0.0, 0.0499))
    ball.add_shape("sphere", radius=0.05, modulus=1e6, friction=0.5)
    world = hs.World(builder.build())
    world.step(400)
    force = sum(patch.force_on_b[2] * (1 if patch.name_b == "ball" else -1) for patch in world.contacts)
    assert force == pytest.approx(0.5 * 9.81, rel=0.01), settings
    assert world.diagnostics()["unconverged_steps"] == 0, settings


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: FrictionLaw("a law", "", "module:NAME"), "name"),
        (lambda: FrictionLaw("law", "", "module"), "write module:NAME"),
        (lambda: FrictionLaw("law", "", "module:NAME", damping=("viscous",)), "hunt_crossley"),  # type: ignore[arg-type]
        (lambda: SolverMethod("method", "", "module:NAME", laws="sap"), "tuple"),  # type: ignore[arg-type]
        (lambda: Integrator("steps", "", ":NAME", accuracy="allowed"), "write module:NAME"),
    ],
)
def test_rows_that_cannot_work_are_told_of_where_they_are_written(make: Any, told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)):
        make()


@pytest.mark.parametrize(
    "given", [{"model": "magic"}, {"friction": "oily"}, {"method": "newtn"}, {"integrator": "x"}]
)
def test_programs_are_told_of_unknown_names(given: dict[str, str]) -> None:
    with pytest.raises(Contradiction, match="unknown"):
        choose(**given)


def test_a_method_with_laws_prefers_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    method = SolverMethod("both", "", "module:NAME", laws=("similar", "lagged"))
    monkeypatch.setattr(solver_choices, "solver_methods", lambda: {"both": method})
    assert solver_choices._law_and_method(None, "both")[0].name == "similar"


def test_no_name_stands_in_two_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    method = SolverMethod("sap", "", "module:NAME")
    monkeypatch.setattr(solver_choices, "solver_methods", lambda: {"sap": method})
    with pytest.raises(InputError, match="'sap' is the name of two, of friction and method"):
        solver_choices._tables.__wrapped__()
