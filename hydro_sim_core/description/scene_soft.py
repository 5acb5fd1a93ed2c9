"""The section ``solver.soft`` of a scene file: smooth contact between point clouds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hydro_sim_core.description.scene_fields import LinkPair, Positive, unit
from hydro_sim_core.description.yaml_source import Section

_Count = Annotated[int, Field(ge=4, le=20_000, strict=True)]
_Blend = Annotated[float, Field(ge=0.0, lt=1.0)]


class SoftPairSettings(Section):
    """Parameters of a pair of links that differ from those of the scene; what is not given is as there."""

    links: LinkPair = Field(description="The two links.")
    stiffness: Positive | None = Field(
        None, description="Of the pair as a whole.", json_schema_extra=unit("N/m")
    )
    dissipation_velocity: Positive | None = Field(
        None,
        description="At twice this speed of parting there is no force left.",
        json_schema_extra=unit("m/s"),
    )
    stiction_velocity: Positive | None = Field(
        None, description="Sliding speed at which friction is 71 % of full.", json_schema_extra=unit("m/s")
    )
    epsilon1: Positive | None = Field(
        None, description="Temperature of the mean over planes.", json_schema_extra=unit("m^2")
    )
    epsilon2: Positive | None = Field(
        None, description="Temperature of the mean over points.", json_schema_extra=unit("m")
    )
    epsilon3: Positive | None = Field(
        None, description="How far the force reaches before contact.", json_schema_extra=unit("m")
    )
    damping_blend: _Blend | None = Field(None, description="Width of the corners of the damping factor.")


class SoftSettings(Section):
    """Smooth contact (Beker 2025): with integrator soft, forces that act at a distance and have derivatives."""

    scheme: Literal["euler", "rk4"] = Field(
        "rk4", description="euler: one evaluation a step, of first order. rk4: four, of fourth order."
    )
    points: _Count = Field(256, description="Points of the cloud of each collision geometry.")
    stiffness: Positive = Field(1e4, description="Of a pair as a whole.", json_schema_extra=unit("N/m"))
    dissipation_velocity: Positive = Field(
        0.2,
        description="At twice this speed of parting there is no force left.",
        json_schema_extra=unit("m/s"),
    )
    stiction_velocity: Positive = Field(
        0.01, description="Sliding speed at which friction is 71 % of full.", json_schema_extra=unit("m/s")
    )
    epsilon1: Positive | None = Field(
        None,
        description="Temperature of the mean over planes; without it, the square of half the larger spacing of points.",
        json_schema_extra=unit("m^2"),
    )
    epsilon2: Positive = Field(
        1e-3, description="Temperature of the mean over points.", json_schema_extra=unit("m")
    )
    epsilon3: Positive = Field(
        1e-3, description="How far the force reaches before contact.", json_schema_extra=unit("m")
    )
    damping_blend: _Blend = Field(
        0.1,
        description="Width of the corners of the damping factor; 0 is the paper's, whose second derivative jumps.",
    )
    pairs: tuple[SoftPairSettings, ...] = Field(
        (), description="Pairs of links with parameters of their own."
    )
