"""Types of values that several sections of a scene file have in common."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, StringConstraints
from pydantic_core import PydanticCustomError

from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.spec import Array
from hydro_sim_core.description.yaml_source import Section
from hydro_sim_core.errors import excerpt


def _one_line(name: str) -> str:
    if not name.isprintable():
        raise conflict(f"{excerpt(name)} does not fit", "give one line of text")
    return name


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]
Positive = Annotated[Number, Field(gt=0.0)]
NonNegative = Annotated[Number, Field(ge=0.0)]
Fraction = Annotated[Number, Field(ge=0.0, le=1.0)]
Vector3 = tuple[Number, Number, Number]
Acceleration = Annotated[Number, Field(ge=-1e6, le=1e6)]
WholeNumber = Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)]
# Names of files have as many characters at most, and any that a file system takes.
FileName = Annotated[str, StringConstraints(min_length=1, max_length=4096, strip_whitespace=True)]
Name = Annotated[FileName, AfterValidator(_one_line)]
# A name that is valid as part of topics and frames. No "#:" here, as the site would render the pattern as a link.
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
LinkPair = tuple[Name, Name]
CommandMode = Literal["position", "velocity", "effort"]
#: Commands of a kinematic model: the components of its twist, in the order of ``V_WB``.
TWIST_MODES = ("wx", "wy", "wz", "vx", "vy", "vz")
#: Unit of a signal, for the page of keys.
COMMANDED = "as commanded"


def unit(symbol: str) -> dict[str, JsonValue]:
    """Schema entry for the unit of a field, for the page of keys and the JSON schema."""
    return {"unit": symbol}


class PoseSpec(Section):
    """Pose of a frame in its parent frame."""

    xyz: Vector3 = Field((0.0, 0.0, 0.0), description="Origin.", json_schema_extra=unit("m"))
    rpy: Vector3 = Field(
        (0.0, 0.0, 0.0), description="Fixed-axis roll, pitch, yaw.", json_schema_extra=unit("rad")
    )

    @property
    def X(self) -> Array:
        """The pose as a (4, 4) matrix."""
        return pose(self.xyz, self.rpy)


def only_choice(section: Section) -> Any:
    """The value of the only field that is given."""
    given = [name for name in type(section).model_fields if getattr(section, name) is not None]
    if len(given) != 1:
        alternatives = ", ".join(type(section).model_fields)
        problem = f"{len(given)} alternatives are given ({', '.join(given)})" if given else "nothing is given"
        raise conflict(problem, f"write exactly one of {alternatives}")
    return getattr(section, given[0])


def one_friction(section: Any) -> Any:
    """Check of contact properties that give friction of rest another coefficient than that of slip."""
    given = section.mu_static if "mu_static" in section.model_fields_set else None
    if given is not None and given != section.mu_dynamic:
        problem = "a mu_static other than mu_dynamic, and friction has one coefficient"
        raise conflict(problem, "give mu_dynamic alone, or both the same number")
    return section


def conflict(problem: str, mend: str) -> PydanticCustomError:
    return PydanticCustomError("conflict", "{problem}; {mend}", {"problem": problem, "mend": mend})
