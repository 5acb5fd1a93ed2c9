"""What a page may ask for, checked before anything else sees it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hydro_sim_core.errors import InputError

#: A page's message may be as long as this, bytes.
MAX_MESSAGE = 4096
_MAX_STEPS = 10_000
#: Continuous joints have no limits; beyond this an angle is no slider's.
_MAX_POSITION = 1e3  # rad or m
_MAX_SEQ = 2**53  # a page counts in doubles
_LONGEST_PROBLEM = 200

Name = Annotated[str, Field(min_length=1, max_length=256)]


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


class Pause(_Message):
    """Stop stepping, or go on."""

    type: Literal["pause"] = "pause"
    paused: bool


class Step(_Message):
    """Take steps while paused."""

    type: Literal["step"] = "step"
    steps: Annotated[int, Field(ge=1, le=_MAX_STEPS)]


class Reset(_Message):
    """Go back to the start."""

    type: Literal["reset"] = "reset"


class SetSpeed(_Message):
    """Simulated seconds a wall-clock second; None for as fast as possible."""

    type: Literal["speed"] = "speed"
    factor: Annotated[float, Field(ge=1e-3, le=1e3)] | None


class Seek(_Message):
    """Go to a time of a recording, s."""

    type: Literal["seek"] = "seek"
    time: float


class Shown(_Message):
    """A frame has been drawn."""

    type: Literal["shown"] = "shown"
    seq: Annotated[int, Field(ge=0, le=_MAX_SEQ)]


Command = SetJoint | SetGrip | Pause | Step | Reset | SetSpeed | Seek
_READER: TypeAdapter[Command | Shown] = TypeAdapter(Annotated[Command | Shown, Field(discriminator="type")])


def read_message(text: str | bytes, sender: str) -> Command | Shown:
    """Check what a page has sent.

    Args:
        text: JSON.
        sender: What to call the page in errors.

    Raises:
        InputError: It is none of the messages above.
    """
    try:
        return _READER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    raise InputError("viewer", sender, _problem(first), "send what docs/viewer.md lists")


def _problem(error: Any) -> str:
    """What pydantic found, in one line without control characters: the keys in it are the sender's."""
    place = ".".join(map(str, error["loc"]))
    text = f"{place}: {error['msg']}" if place else error["msg"]
    return ascii(text)[1:-1][:_LONGEST_PROBLEM]
