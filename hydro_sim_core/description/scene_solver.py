"""The section ``solver`` of a scene file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from hydro_sim_core.description.scene_fields import Flag, Positive, conflict, unit
from hydro_sim_core.description.scene_soft import SoftSettings
from hydro_sim_core.description.solver_choices import (
    SOFT,
    Contradiction,
    FrictionLaw,
    Integrator,
    SolverChoice,
    SolverMethod,
    choose,
    friction_laws,
    integrators,
    model_names,
    solver_methods,
)
from hydro_sim_core.description.yaml_source import Section


def _listed(rows: Mapping[str, FrictionLaw | SolverMethod | Integrator]) -> str:
    return " ".join(f"{row.name}: {row.description}." for row in rows.values())


if TYPE_CHECKING:
    LawName: TypeAlias = str
    MethodName: TypeAlias = str
    IntegratorName: TypeAlias = str
    ModelName: TypeAlias = str
else:
    LawName = Literal[tuple(friction_laws())]
    MethodName = Literal[tuple(solver_methods())]
    IntegratorName = Literal[tuple(integrators())]
    ModelName = Literal[model_names()]


class SolverSettings(Section):
    """The contact problem of a step: friction law, solver method and integrator."""

    model: ModelName | None = Field(
        None, description="Short for the friction, method or integrator of this name."
    )
    friction: LawName | None = Field(
        None,
        description="What bounds friction: lagged, or what the method or the integrator needs. "
        + _listed(friction_laws()),
    )
    method: MethodName | None = Field(
        None,
        description="How a step is solved: newton, or what the friction law needs. "
        + _listed(solver_methods()),
    )
    integrator: IntegratorName | None = Field(
        None,
        description="From one step to the next: fixed, or error_controlled where an accuracy is given. "
        + _listed(integrators()),
    )
    accuracy: Annotated[Positive, Field(ge=1e-12, le=1e-1)] | None = Field(
        None,
        description="With error_controlled, largest error of a coordinate in a sub-step, rad or m. With continuous, "
        "relative error in an integration step, 1e-4 by default.",
    )
    tolerance: Annotated[Positive, Field(ge=1e-14, le=1e-2)] = Field(
        1e-8,
        description="Momentum residual relative to the momenta that a step exchanges, as far as round-off allows.",
    )
    max_iterations: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] | None = Field(
        None, description="Iterations of the method a step; without it 100, and 10,000 with pgs."
    )
    stiction_speed: Annotated[Positive, Field(ge=1e-9, le=1.0)] = Field(
        1e-5,
        description="Sliding speed at which friction is 71 % of full; what holds on a slope creeps about so, and "
        "joints with friction at ten times that, in rad/s or m/s.",
        json_schema_extra=unit("m/s"),
    )
    relag: Flag = Field(
        True, strict=True, description="Solve again with the new normal forces after an impact."
    )
    soft: SoftSettings | None = Field(None, description="With integrator soft, its contact.")

    parity: Literal["drake"] | None = Field(
        None,
        description="Take steps as this program does, for comparison: friction is lagged, similar or sap, and solved "
        "once, with the bounds from before the step.",
    )

    @property
    def choice(self) -> SolverChoice:
        """The chosen law, method and integrator."""
        return choose(
            model=self.model,
            friction=self.friction,
            method=self.method,
            integrator=self.integrator,
            has_accuracy=self.accuracy is not None,
            parity=self.parity,
        )

    @model_validator(mode="after")
    def _choices_fit(self) -> SolverSettings:
        try:
            choice = self.choice
        except Contradiction as contradiction:
            raise conflict(contradiction.problem, contradiction.mend) from None
        if choice.method is None:
            self._refuse({"tolerance", "max_iterations", "relag"}, f"integrator {choice.integrator.name}")
        elif not choice.law.lags:
            self._refuse({"relag"}, f"friction {choice.law.name}")
        elif self.parity is not None:
            self._refuse({"relag"}, f"parity {self.parity}")
        if choice.integrator.name == SOFT:
            # What sticks creeps at a speed of its own there.
            self._refuse({"stiction_speed"}, f"integrator {SOFT}, which has soft.stiction_velocity")
        elif self.soft is not None:
            self._refuse({"soft"}, f"integrator {choice.integrator.name}")
        return self

    @property
    def soft_contact(self) -> SoftSettings | None:
        """Settings of smooth contact with integrator soft; None with others."""
        return (self.soft or SoftSettings()) if self.choice.integrator.name == SOFT else None

    def _refuse(self, idle: set[str], beside: str) -> None:
        for name in sorted(idle & self.model_fields_set):
            raise conflict(f"{name} does nothing with {beside}", f"leave {name} out")
