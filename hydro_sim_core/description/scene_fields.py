"""Kinds of values that many sections of a scene file have."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StringConstraints
from pydantic_core import PydanticCustomError

from hydro_sim_core.description.yaml_source import Section

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0.0)]
NonNegative = Annotated[Number, Field(ge=0.0)]
Fraction = Annotated[Number, Field(ge=0.0, le=1.0)]
Vector3 = tuple[Number, Number, Number]
Acceleration = Annotated[Number, Field(ge=-1e6, le=1e6)]
Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
LinkPair = tuple[Name, Name]
CommandMode = Literal["position", "velocity", "effort"]
#: What may be commanded of a kinematic model: the components of its twist, in the order of ``V_WB``.
TWIST_MODES = ("wx", "wy", "wz", "vx", "vy", "vz")
#: Unit of a signal.
COMMANDED = "as commanded"


def unit(symbol: str) -> dict[str, JsonValue]:
    """What a field says of its unit, for the page of keys and the JSON schema."""
    return {"unit": symbol}


def only_choice(section: Section) -> Any:
    """The one alternative that is given."""
    given = [name for name in type(section).model_fields if getattr(section, name) is not None]
    if len(given) != 1:
        alternatives = ", ".join(type(section).model_fields)
        problem = f"{len(given)} alternatives are given ({', '.join(given)})" if given else "nothing is given"
        raise conflict(problem, f"write exactly one of {alternatives}")
    return getattr(section, given[0])


def conflict(problem: str, mend: str) -> PydanticCustomError:
    return PydanticCustomError("conflict", "{problem}; {mend}", {"problem": problem, "mend": mend})
