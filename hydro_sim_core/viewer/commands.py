"""Commands of a page, validated on arrival."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hydro_sim_core.errors import InputError

#: Largest size of a page's message, bytes.
MAX_MESSAGE = 4096
_MAX_STEPS = 10_000
#: Bound on positions; continuous joints have no limits of their own.
_MAX_POSITION = 1e3  # rad or m
#: Bound on places of pulls, far beyond what a page can point at.
_FARTHEST = 1e4  # m
_MAX_SEQ = 2**53  # largest integer that a page counts exactly
_LONGEST_PROBLEM = 200

Name = Annotated[str, Field(min_length=1, max_length=256)]
_Coordinate = Annotated[float, Field(ge=-_FARTHEST, le=_FARTHEST)]
Place = tuple[_Coordinate, _Coordinate, _Coordinate]


class _Message(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class SetJoint(_Message):
    """Drive a joint to a position, rad or m."""

    type: Literal["joint"] = "joint"
    name: Name
    position: Annotated[float, Field(ge=-_MAX_POSITION, le=_MAX_POSITION)]


class SetGrip(_Message):
    """Close a gripper with a force a finger, N."""

    type: Literal["grip"] = "grip"
    name: Name
    force: float


class Pull(_Message):
    """Pull a point of a link, given in its frame, towards a target in the world, m."""

    type: Literal["pull"] = "pull"
    link: Name
    point: Place
    target: Place


class LetGo(_Message):
    """End the pull of a link."""

    type: Literal["let_go"] = "let_go"
    link: Name


class Pause(_Message):
    """Pause or resume stepping."""

    type: Literal["pause"] = "pause"
    paused: bool


class Step(_Message):
    """Take steps while paused."""

    type: Literal["step"] = "step"
    steps: Annotated[int, Field(ge=1, le=_MAX_STEPS)]


class Reset(_Message):
    """Reset the simulation."""

    type: Literal["reset"] = "reset"


class SetSpeed(_Message):
    """Set the real-time factor; None for as fast as possible."""

    type: Literal["speed"] = "speed"
    factor: Annotated[float, Field(ge=1e-3, le=1e3)] | None


class Choose(_Message):
    """Load an entry of the scene's list of choices."""

    type: Literal["choose"] = "choose"
    name: Name


class Seek(_Message):
    """Seek to a time of a recording, s."""

    type: Literal["seek"] = "seek"
    time: float


class Shown(_Message):
    """Report that a frame has been drawn."""

    type: Literal["shown"] = "shown"
    seq: Annotated[int, Field(ge=0, le=_MAX_SEQ)]


Command = SetJoint | SetGrip | Pull | LetGo | Pause | Step | Reset | SetSpeed | Choose | Seek
_READER: TypeAdapter[Command | Shown] = TypeAdapter(Annotated[Command | Shown, Field(discriminator="type")])


def read_message(text: str | bytes, sender: str) -> Command | Shown:
    """Parse and validate a message of a page.

    Args:
        text: JSON.
        sender: Name of the page in error messages.

    Raises:
        InputError: The text is not one of the commands.
    """
    try:
        return _READER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    raise InputError("viewer", sender, _problem(first), "send what docs/viewer.md lists")


def _problem(error: Any) -> str:
    """Describe a validation error in one line without control characters, as keys in it come from the sender."""
    place = ".".join(map(str, error["loc"]))
    text = f"{place}: {error['msg']}" if place else error["msg"]
    return ascii(text)[1:-1][:_LONGEST_PROBLEM]
