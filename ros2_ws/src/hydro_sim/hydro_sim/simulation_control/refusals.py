"""Refusals of requests to the simulation, and their result codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

from rclpy.impl.rcutils_logger import RcutilsLogger

from hydro_sim_core.errors import InputError, MissingFile, UnknownFormat

_LONGEST = 500  # largest length of a message, characters


class Reason(Enum):
    """Kinds of refusals, with the names of the codes of simulation_interfaces."""

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
    """A request was not carried out and changed nothing.

    Args:
        reason: Kind of the refusal.
        message: One line with problem and remedy.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        line = " ".join(message.split())
        super().__init__(line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…")


def refusal_of(error: Exception, request: str, logger: RcutilsLogger) -> Refused:
    """The refusal for a request that ended with an exception; a bug must not end the node.

    Args:
        error: The exception.
        request: Name of the request.
        logger: Logger for exceptions that are bugs.
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
    """Turn an ``InputError`` into a refusal of the request."""
    try:
        yield
    except InputError as error:
        raise Refused(reason, str(error)) from None


@contextmanager
def refusing_resource() -> Iterator[None]:
    """Turn an ``InputError`` in a description into a refusal with the reason that fits the error."""
    try:
        yield
    except MissingFile as error:
        raise Refused(Reason.MISSING_ASSETS, str(error)) from None
    except UnknownFormat as error:
        raise Refused(Reason.UNSUPPORTED_ASSETS, str(error)) from None
    except InputError as error:
        raise Refused(Reason.RESOURCE_PARSE_ERROR, str(error)) from None


def code_of(reason: Reason, answer: Any, result: Any) -> int:
    """Result code of a refusal in simulation_interfaces.

    Args:
        reason: Kind of the refusal.
        answer: Message that may have a specific code for it.
        result: ``simulation_interfaces.msg.Result``, whose codes are general.
    """
    for owner, name in ((answer, reason.name), (result, f"RESULT_{reason.name}")):
        code = getattr(owner, name, None)
        if code is not None:
            return int(code)
    return int(result.RESULT_OPERATION_FAILED)
