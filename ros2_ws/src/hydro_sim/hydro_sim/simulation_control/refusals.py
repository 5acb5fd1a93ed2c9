"""Why a request to the simulation was not carried out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

from rclpy.impl.rcutils_logger import RcutilsLogger

from hydro_sim_core.errors import InputError, MissingFile, UnknownFormat

_LONGEST = 500  # characters of a message


class Reason(Enum):
    """Kinds of refusals, named as simulation_interfaces names their codes."""

    FEATURE_UNSUPPORTED = auto()
    NOT_FOUND = auto()
    INCORRECT_STATE = auto()
    OPERATION_FAILED = auto()
    NAME_NOT_UNIQUE = auto()
    NAME_INVALID = auto()
    NAMESPACE_INVALID = auto()
    NO_RESOURCE = auto()
    UNSUPPORTED_FORMAT = auto()
    RESOURCE_PARSE_ERROR = auto()
    MISSING_ASSETS = auto()
    UNSUPPORTED_ASSETS = auto()
    INVALID_POSE = auto()
    ALREADY_IN_TARGET_STATE = auto()
    STATE_TRANSITION_ERROR = auto()
    INCORRECT_TRANSITION = auto()
    NO_WORLD_LOADED = auto()
    DEFAULT_SOURCES_FAILED = auto()
    ENTITIES_SPAWN_FAILED = auto()


class Refused(Exception):
    """A request that was not carried out; everything is as it was before.

    Args:
        reason: Its kind.
        message: One line that says what is wrong and what to do.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        line = " ".join(message.split())
        super().__init__(line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…")


def refusal_of(error: Exception, request: str, logger: RcutilsLogger) -> Refused:
    """What to answer to a request that an exception ended; a fault of ours must not take the node down with it.

    Args:
        error: What was raised.
        request: Name of the request.
        logger: Told of what is a fault of ours.
    """
    if isinstance(error, Refused):
        return error
    if isinstance(error, InputError | FloatingPointError):
        return Refused(Reason.OPERATION_FAILED, str(error))
    fault = f"{type(error).__name__}: {error}"
    logger.error(f"{request} failed: {fault}" + (f" ({error.__cause__!r})" if error.__cause__ else ""))
    return Refused(Reason.OPERATION_FAILED, f"internal error: {fault}; see the log")


@contextmanager
def refusing(reason: Reason) -> Iterator[None]:
    """Let an ``InputError`` refuse the request."""
    try:
        yield
    except InputError as error:
        raise Refused(reason, str(error)) from None


@contextmanager
def refusing_resource() -> Iterator[None]:
    """Let an ``InputError`` in a description refuse the request, by what is wrong with it."""
    try:
        yield
    except MissingFile as error:
        raise Refused(Reason.MISSING_ASSETS, str(error)) from None
    except UnknownFormat as error:
        raise Refused(Reason.UNSUPPORTED_ASSETS, str(error)) from None
    except InputError as error:
        raise Refused(Reason.RESOURCE_PARSE_ERROR, str(error)) from None


def code_of(reason: Reason, answer: Any, result: Any) -> int:
    """Number of a refusal in simulation_interfaces.

    Args:
        reason: Its kind.
        answer: Message that may have a code of its own for it.
        result: ``simulation_interfaces.msg.Result``, whose codes are general.
    """
    for owner, name in ((answer, reason.name), (result, f"RESULT_{reason.name}")):
        code = getattr(owner, name, None)
        if code is not None:
            return int(code)
    return int(result.RESULT_OPERATION_FAILED)
