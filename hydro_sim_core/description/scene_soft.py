"""The section ``solver.soft`` of a scene file: smooth contact between point clouds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from hydro_sim_core.description.scene_fields import LinkPair, Number, Positive, unit
from hydro_sim_core.description.soft_ranges import SOFT_RANGES
from hydro_sim_core.description.yaml_source import Section

_Count = Annotated[int, Field(ge=4, le=20_000, strict=True)]


def _within(name: str) -> Any:
    """The range of a parameter."""
    least, most = SOFT_RANGES[name]
    return Field(ge=least, le=most)


def _ramp(blend: float) -> float:
    least, most = SOFT_RANGES["damping_blend"]
    if 0.0 < blend < least:
        raise ValueError(f"give 0, or {least:g} to {most:g}")
    return blend


_Stiffness = Annotated[Positive, _within("stiffness")]
_Dissipation = Annotated[Positive, _within("dissipation_velocity")]
_Stiction = Annotated[Positive, _within("stiction_velocity")]
_Epsilon1 = Annotated[Positive, _within("epsilon1")]
_Epsilon2 = Annotated[Positive, _within("epsilon2")]
_Epsilon3 = Annotated[Positive, _within("epsilon3")]
_Blend = Annotated[Number, Field(ge=0.0, le=SOFT_RANGES["damping_blend"][1]), AfterValidator(_ramp)]


class SoftPairSettings(Section):
    """Parameters of a pair of links that differ from those of the scene; what is not given is as there."""

    links: LinkPair = Field(description="The two links.")
    stiffness: _Stiffness | None = Field(
        None, description="Of the pair as a whole.", json_schema_extra=unit("N/m")
    )
    dissipation_velocity: _Dissipation | None = Field(
        None,
        description="At twice this speed of parting there is no force left.",
        json_schema_extra=unit("m/s"),
    )
    stiction_velocity: _Stiction | None = Field(
        None, description="Sliding speed at which friction is 71 % of full.", json_schema_extra=unit("m/s")
    )
    epsilon1: _Epsilon1 | None = Field(
        None, description="Temperature of the mean over planes.", json_schema_extra=unit("m^2")
    )
    epsilon2: _Epsilon2 | None = Field(
        None, description="Temperature of the mean over points.", json_schema_extra=unit("m")
    )
    epsilon3: _Epsilon3 | None = Field(
        None, description="How far the force reaches before contact.", json_schema_extra=unit("m")
    )
    damping_blend: _Blend | None = Field(None, description="Width of the corners of the damping factor.")


class SoftSettings(Section):
    """Smooth contact (Beker 2025): with integrator soft, forces that act at a distance and have derivatives."""

    scheme: Literal["euler", "rk4"] = Field(
        "rk4", description="euler: one evaluation a step, of first order. rk4: four, of fourth order."
    )
    points: _Count = Field(256, description="Points of the cloud of each collision geometry.")
    stiffness: _Stiffness = Field(1e4, description="Of a pair as a whole.", json_schema_extra=unit("N/m"))
    dissipation_velocity: _Dissipation = Field(
        0.2,
        description="At twice this speed of parting there is no force left.",
        json_schema_extra=unit("m/s"),
    )
    stiction_velocity: _Stiction = Field(
        0.01, description="Sliding speed at which friction is 71 % of full.", json_schema_extra=unit("m/s")
    )
    epsilon1: _Epsilon1 | None = Field(
        None,
        description="Temperature of the mean over planes; without it, the square of an eighth of the larger spacing.",
        json_schema_extra=unit("m^2"),
    )
    epsilon2: _Epsilon2 = Field(
        1e-3, description="Temperature of the mean over points.", json_schema_extra=unit("m")
    )
    epsilon3: _Epsilon3 = Field(
        1e-3, description="How far the force reaches before contact.", json_schema_extra=unit("m")
    )
    damping_blend: _Blend = Field(
        0.1,
        description="Width of the corners of the damping factor; 0 is the paper's, whose second derivative jumps.",
    )
    pairs: tuple[SoftPairSettings, ...] = Field(
        (), description="Pairs of links with parameters of their own."
    )
