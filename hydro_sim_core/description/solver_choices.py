"""Tables of the choices in ``solver`` of a scene: friction laws, solver methods and integrators.

To add one, add a row here, or a plug-in's entry point in the group ``hydro_sim.friction_laws``,
``hydro_sim.solver_methods`` or ``hydro_sim.integrators``, with a reference to its code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import is_reference, load_plugins

Damping = Literal["hunt_crossley", "linear"]
#: Name of the integrator with smooth contact, which has settings of its own.
SOFT = "soft"


class _Row(Protocol):
    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=_Row)


@dataclass(frozen=True)
class FrictionLaw:
    """A law for the normal and friction force of a contact face as functions of its velocity.

    Attributes:
        name: Name of the row.
        description: The bound on friction, as half a sentence.
        law: Reference ``module:NAME`` to the ``FaceLaw``.
        damping: Supported damping laws, the default first.
        is_convex: Whether the force is the gradient of a convex cost, so that every method for convex costs applies.
        lags: Whether the friction bound is the normal impulse before the step, and the step is solved again after an
            impact.
        uses_grain: Whether the law depends on the grain of surfaces; scenes with grain need such a law.
    """

    name: str
    description: str
    law: str
    damping: tuple[Damping, ...] = ("hunt_crossley", "linear")
    is_convex: bool = True
    lags: bool = False
    uses_grain: bool = False

    def __post_init__(self) -> None:
        _check_row(self, self.law)
        if not self.damping or not set(self.damping) <= {"hunt_crossley", "linear"}:
            raise _misfit(self, "damping", self.damping, "name hunt_crossley, linear or both")


@dataclass(frozen=True)
class SolverMethod:
    """A method that solves for the velocities of a step.

    Attributes:
        name: Name of the row.
        description: Description, as half a sentence.
        solve: Reference ``module:NAME`` to the kernel that solves an island: called with the problem, the options, the
            law, the index of the island and the scratch memory. With laws that lag it has to set the friction bounds
            itself, by ``newton.update_friction_bounds``; they are zero before.
        laws: Supported friction laws, the default first; empty for all convex laws.
        numbers_per_face: Number of floats of scratch memory per face.
        max_iterations: Default of ``solver.max_iterations``.
    """

    name: str
    description: str
    solve: str
    laws: tuple[str, ...] = ()
    numbers_per_face: int = 0
    max_iterations: int = 100

    def __post_init__(self) -> None:
        _check_row(self, self.solve)
        if not isinstance(self.laws, tuple):
            raise _misfit(self, "laws", self.laws, "give a tuple of names")

    def solves(self, law: FrictionLaw) -> bool:
        """Whether the method supports a friction law."""
        return law.name in self.laws if self.laws else law.is_convex


@dataclass(frozen=True)
class Integrator:
    """An integrator that advances a world by one time step.

    Attributes:
        name: Name of the row.
        description: Description, as half a sentence.
        stepper: Reference ``module:NAME`` to its ``Stepper`` class: called with the machine, the time step and the
            accuracy.
        accuracy: Whether ``solver.accuracy`` is required, optional or refused.
        law: The friction law of its forces, if it does not solve convex steps.
        has_points: Whether links can touch at equivalent points, which are sought where a solved step ends.
    """

    name: str
    description: str
    stepper: str
    accuracy: Literal["needed", "allowed", "refused"]
    law: str = ""
    has_points: bool = True

    def __post_init__(self) -> None:
        _check_row(self, self.stepper)


def _check_row(row: FrictionLaw | SolverMethod | Integrator, reference: str) -> None:
    if not (isinstance(row.name, str) and row.name.isidentifier()):
        raise _misfit(row, "name", row.name, "give a name of letters, digits and _")
    if not is_reference(reference):
        raise _misfit(row, "its code", reference, "write module:NAME")


def _misfit(row: Any, attribute: str, value: object, mend: str) -> InputError:
    return InputError(type(row).__name__, f"{row.name!r}, {attribute}", f"{value!r} does not fit", mend)


_LAWS = (
    FrictionLaw(
        "lagged",
        "at most mu times the normal impulse known before the solve",
        "hydro_sim_core.solvers.face_laws:LAGGED",
        lags=True,
    ),
    FrictionLaw(
        "similar",
        "mu times the normal impulse of the solve, in a convex cost that lifts what slides",
        "hydro_sim_core.solvers.face_laws:SIMILAR",
    ),
    FrictionLaw(
        "sap",
        "the projection of an unconstrained impulse on the friction cone",
        "hydro_sim_core.solvers.face_laws:SAP",
        damping=("linear",),
    ),
    FrictionLaw(
        "coulomb",
        "mu times the normal impulse of the solution, but for the regularisation by stiction_speed",
        "hydro_sim_core.solvers.face_laws:LAGGED",
        is_convex=False,
    ),
    FrictionLaw(
        "elliptic",
        "as lagged, within an ellipse: less along the grain of a surface than across it",
        "hydro_sim_core.solvers.elliptic_law:ELLIPTIC",
        lags=True,
        uses_grain=True,
    ),
)
_METHODS = (
    SolverMethod(
        "newton",
        "minimises the convex cost, with exact line search",
        "hydro_sim_core.solvers.newton:solve_newton",
    ),
    SolverMethod(
        "tamsi",
        "solves equations without a cost, in steps that stop where friction changes its regime",
        "hydro_sim_core.solvers.tamsi:solve_tamsi",
        laws=("coulomb",),
    ),
    SolverMethod(
        "pgs",
        "goes through all impulses in turn, many times, for comparison",
        "hydro_sim_core.solvers.pgs:solve_pgs",
        laws=("sap",),
        numbers_per_face=3,
        max_iterations=10_000,
    ),
)
_INTEGRATORS = (
    Integrator(
        "fixed",
        "one step a time_step, cut where it does not converge",
        "hydro_sim_core.simulation.integrators.steppers:FixedSteps",
        accuracy="refused",
    ),
    Integrator(
        "error_controlled",
        "as many steps in a time_step as accuracy asks for",
        "hydro_sim_core.simulation.integrators.steppers:ErrorControlledSteps",
        accuracy="needed",
    ),
    Integrator(
        "continuous",
        "accelerations by an implicit Runge-Kutta method, slow and accurate",
        "hydro_sim_core.simulation.integrators.continuous:ContinuousSteps",
        accuracy="allowed",
        law="coulomb",
        has_points=False,
    ),
    Integrator(
        SOFT,
        "accelerations under smooth contact between point clouds, explicit, for derivatives and plans",
        "hydro_sim_core.simulation.integrators.soft:SoftSteps",
        accuracy="refused",
        law="coulomb",
        has_points=False,
    ),
)
#: Steps as another program takes them, by its name; the laws that it has, and the method that solves with all of them.
PARITIES = {
    "drake": Integrator(
        "drake",
        "steps as Drake takes them",
        "hydro_sim_core.simulation.integrators.drake_steps:DrakeSteps",
        accuracy="refused",
        has_points=False,
    ),
}
PARITY_LAWS = {"drake": ("lagged", "similar", "sap")}
_PARITY_METHOD = "newton"


@cache
def friction_laws() -> Mapping[str, FrictionLaw]:
    """Friction laws by name, including those of plug-ins.

    Raises:
        InputError: A plug-in cannot be loaded, is not a friction law, or has the name of another.
    """
    return _table(_LAWS, load_plugins("hydro_sim.friction_laws", FrictionLaw, _LAWS))


@cache
def solver_methods() -> Mapping[str, SolverMethod]:
    """Methods by name, including those of plug-ins; errors as for ``friction_laws``, and for unknown laws."""
    methods = _table(_METHODS, load_plugins("hydro_sim.solver_methods", SolverMethod, _METHODS))
    for method in methods.values():
        if not set(method.laws) <= friction_laws().keys():
            raise _misfit(method, "laws", method.laws, f"choose from {', '.join(friction_laws())}")
    return methods


@cache
def integrators() -> Mapping[str, Integrator]:
    """Integrators by name, including those of plug-ins; errors as for ``friction_laws``, and for an unknown law."""
    rows = _table(_INTEGRATORS, load_plugins("hydro_sim.integrators", Integrator, _INTEGRATORS))
    for row in rows.values():
        if row.law and row.law not in friction_laws():
            raise _misfit(row, "law", row.law, f"choose from {', '.join(friction_laws())}")
    return rows


def _table(known: Iterable[Row], added: Iterable[Row]) -> dict[str, Row]:
    return {row.name: row for row in (*known, *added)}


@dataclass(frozen=True)
class SolverChoice:
    """Friction law, method and integrator of a scene.

    Attributes:
        law: The friction law.
        method: The method; None if the integrator does not solve convex steps.
        integrator: The integrator.
    """

    law: FrictionLaw
    method: SolverMethod | None
    integrator: Integrator


class Contradiction(ValueError):
    """Choices that exclude each other.

    Attributes:
        problem: Description of the conflict.
        mend: Remedy.
    """

    def __init__(self, problem: str, mend: str) -> None:
        super().__init__(f"{problem}; {mend}")
        self.problem, self.mend = problem, mend


def choose(
    *,
    model: str | None = None,
    friction: str | None = None,
    method: str | None = None,
    integrator: str | None = None,
    has_accuracy: bool = False,
    parity: str | None = None,
) -> SolverChoice:
    """The choices of a scene; those left open follow from the others.

    Args:
        model: Shorthand for whichever of the other three has this name.
        friction: Name of a friction law.
        method: Name of a method.
        integrator: Name of an integrator.
        has_accuracy: Whether an accuracy is given.
        parity: Name of the program whose steps are taken.

    Raises:
        Contradiction: The choices exclude each other.
    """
    given = {"friction": friction, "method": method, "integrator": integrator}
    for key, name in given.items():
        if name is not None and name not in _tables()[key]:
            raise Contradiction(f"unknown {key} '{name}'", did_you_mean(name, _tables()[key]))
    if model is not None and model not in model_names():
        raise Contradiction(f"unknown model '{model}'", did_you_mean(model, model_names()))
    if model is not None:
        key = next(key for key, table in _tables().items() if model in table)
        if given[key] not in (None, model):
            raise Contradiction(
                f"model {model} beside {key} {given[key]}", "leave model out, or set it to null"
            )
        given[key] = model
    if parity is not None:
        return _choose_parity(parity, given, has_accuracy)
    steps = integrators()[given["integrator"] or ("error_controlled" if has_accuracy else "fixed")]
    _check_accuracy(steps, has_accuracy)
    if steps.law:
        if given["method"] is not None:
            raise Contradiction(
                f"integrator {steps.name} solves no steps by a method", "leave method or integrator out"
            )
        if given["friction"] not in (None, steps.law):
            raise Contradiction(
                f"integrator {steps.name} has friction {steps.law}", f"leave friction {given['friction']} out"
            )
        return SolverChoice(friction_laws()[steps.law], None, steps)
    law, solver = _law_and_method(given["friction"], given["method"])
    return SolverChoice(law, solver, steps)


def _choose_parity(parity: str, given: Mapping[str, str | None], has_accuracy: bool) -> SolverChoice:
    """The choices of a scene that is stepped as another program does it."""
    steps, laws = PARITIES[parity], PARITY_LAWS[parity]
    if given["integrator"] is not None:
        raise Contradiction(
            f"integrator {given['integrator']} beside parity {parity}", "leave one of them out"
        )
    if has_accuracy:
        raise Contradiction(f"accuracy does nothing with parity {parity}", "leave one of them out")
    if given["method"] not in (None, _PARITY_METHOD):
        raise Contradiction(
            f"method {given['method']} beside parity {parity}",
            f"leave it out; {_PARITY_METHOD} finds the same velocities",
        )
    law = given["friction"] or laws[0]
    if law not in laws:
        raise Contradiction(
            f"parity {parity} has no friction {law}", f"choose friction from {', '.join(laws)}"
        )
    return SolverChoice(friction_laws()[law], solver_methods()[_PARITY_METHOD], steps)


def model_names() -> tuple[str, ...]:
    """Values of ``solver.model``: the names in all three tables, without duplicates."""
    return tuple(name for table in _tables().values() for name in table)


@cache
def _tables() -> dict[str, Mapping[str, Any]]:
    """The three tables.

    Raises:
        InputError: Two tables have a row of the same name, which would make ``solver.model`` ambiguous.
    """
    tables: dict[str, Mapping[str, Any]] = {
        "friction": friction_laws(),
        "method": solver_methods(),
        "integrator": integrators(),
    }
    names = [name for table in tables.values() for name in table]
    for name in names:
        if names.count(name) > 1:
            problem = (
                f"'{name}' is the name of two, of {' and '.join(k for k, t in tables.items() if name in t)}"
            )
            raise InputError(
                "plug-ins", "solver choices", problem, "give the one that a package adds another name"
            )
    return tables


def _check_accuracy(steps: Integrator, has_accuracy: bool) -> None:
    if steps.accuracy == "needed" and not has_accuracy:
        raise Contradiction(f"integrator {steps.name} without accuracy", "give accuracy")
    if steps.accuracy == "refused" and has_accuracy:
        raise Contradiction(f"accuracy does nothing with integrator {steps.name}", "leave one of them out")


def _law_and_method(law: str | None, method: str | None) -> tuple[FrictionLaw, SolverMethod]:
    """The law and a method that supports it; names that are not given follow from the tables."""
    laws, methods = friction_laws(), solver_methods()
    solvers = [methods[method]] if method is not None else list(methods.values())
    for solver in solvers:
        for candidate in [law] if law is not None else solver.laws or laws:
            if solver.solves(laws[candidate]):
                return laws[candidate], solver
    able = [one.name for one in laws.values() if any(solver.solves(one) for solver in solvers)]
    raise Contradiction(
        f"method {method} does not solve with friction {law}" if method else f"no method solves with {law}",
        f"choose friction from {', '.join(able)}" if method else "install one",
    )
