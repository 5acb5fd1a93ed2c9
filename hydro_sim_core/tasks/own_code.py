"""A task's own code: what it raises, or gives in place of what is asked for, is told with its place."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Collection, Generator, Mapping
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hydro_sim_core.compilation import CompilationFailed
from hydro_sim_core.errors import InputError, printable, shortened
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.tasks import patience
from hydro_sim_core.tasks.robot import Measurement, Script, TaskFailed
from hydro_sim_core.tasks.task import Outcome, Story, Task, TaskController
from hydro_sim_core.tasks.variation import Draws

_Result = TypeVar("_Result")
#: Files whose frames call what is a task's own.
_OURS = (
    __file__,
    *(str(Path(__file__).with_name(name)) for name in ("attempt.py", "trial.py", "patience.py")),
)
_CONTROLLER, _FOLLOWED, _JUDGE = "the controller", "what the task follows", "the judge"
_VARIATION = "what draws"
#: Name of the time of each period in a course.
TIME = "time, s"
#: Columns that the table of a sweep has of every trial beside its measures.
COLUMNS = ("sample", "seed", "succeeded", "phase", "reason", "time", "error")


def numbers_of(task: Task, measured: Measurement) -> dict[str, float]:
    """What a task follows of a measurement.

    Raises:
        TaskFailed: It raises, or gives anything but numbers by name.
    """

    def followed() -> dict[str, float]:
        return _numbers(task.follow(measured), _FOLLOWED, task.follow, (TIME,))

    return _its_own(followed, task.follow, _FOLLOWED)


def outcome_of(task: Task, story: Story) -> Outcome:
    """What the judge of a task says.

    Raises:
        TaskFailed: It raises, or gives anything but an outcome.
    """

    def judged() -> Outcome:
        given: Any = task.judge(story)
        if not isinstance(given, Outcome):
            raise TaskFailed(
                f"{_JUDGE} gives {_named(given)} in place of an Outcome ({place_of(task.judge)})"
            )
        if wrong := _wrong_with(given):
            raise TaskFailed(f"{_JUDGE} gives {wrong} ({place_of(task.judge)})")
        measures = _numbers(given.measures, _JUDGE, task.judge, COLUMNS)
        return Outcome(bool(given.succeeded), given.reason, measures)

    return _its_own(judged, task.judge, _JUDGE)


def _wrong_with(outcome: Any) -> str:
    """What is wrong with whether a task has succeeded and why not; empty if nothing."""
    if not isinstance(outcome.succeeded, bool | np.bool_):
        return f"{_named(outcome.succeeded)} in place of True or False for whether it has succeeded"
    if not isinstance(outcome.reason, str):
        return f"{_named(outcome.reason)} in place of a reason in words"
    if outcome.succeeded and outcome.reason:
        return f"the reason {_named(outcome.reason)} with a success"
    return "" if outcome.succeeded or outcome.reason.strip() else "a failure without a reason"


def have_drawn(task: Task, draws: Draws) -> None:
    """Have a task draw, and note it as numbers.

    Raises:
        InputError: What it draws the scene does not have.
        TaskFailed: It raises anything else, or has anything but values by path and numbers by name.
    """

    def draw() -> None:
        task.variation(draws)
        values: Any = draws.values
        if not isinstance(values, Mapping) or not all(isinstance(path, str) for path in values):
            raise TaskFailed(
                f"{_VARIATION} gives {_named(values)} in place of values by path ({place_of(task.variation)})"
            )
        draws.drawn = _numbers(draws.drawn, _VARIATION, task.variation)

    _its_own(draw, task.variation, _VARIATION, InputError)


def made_controller(task: Task, model: World) -> TaskController:
    """A new controller of a task.

    Args:
        task: The task.
        model: World to plan in.

    Raises:
        InputError: The world does not fit the task.
        TaskFailed: Its own code raises anything else, or makes none.
    """

    def make() -> TaskController:
        return _checked_controller(task.controller(model, task.period), task.controller)

    return _its_own(make, task.controller, _CONTROLLER, InputError)


def _checked_controller(given: Any, maker: Any) -> TaskController:
    """A controller as it was made.

    Raises:
        TaskFailed: It has no ``script`` to call, or no robot with a phase.
    """
    if not callable(getattr(given, "script", None)):
        raise TaskFailed(f"{_CONTROLLER} has no script(measured) ({place_of(maker)})")
    if not isinstance(getattr(getattr(given, "robot", None), "phase", None), str):
        raise TaskFailed(f"{_CONTROLLER} has no robot with a phase in words ({place_of(maker)})")
    made: TaskController = given
    return made


def phase_of(controller: TaskController) -> str:
    """What a controller is doing, in words; ``?`` where it does not tell any more."""
    try:
        phase: Any = controller.robot.phase
    except KeyboardInterrupt:
        raise
    except BaseException:
        phase = None
    return phase if isinstance(phase, str) else "?"


def script_of(controller: TaskController, before: Measurement) -> Script:
    """What a controller does from the first measurement on.

    Raises:
        TaskFailed: It raises, or gives no generator.
    """
    script: Any = _its_own(lambda: controller.script(before), controller.script, _CONTROLLER)
    if not isinstance(script, Generator):
        place = place_of(controller.script)
        raise TaskFailed(f"{_CONTROLLER}'s script gives {_named(script)} in place of a generator ({place})")
    return script


def next_of(script: Script, go_on: Callable[[], Any]) -> dict[str, JointCommand] | None:
    """The next commands of a controller; None where it has ended.

    Raises:
        TaskFailed: It raises, or gives anything but commands by joint.
    """

    def given() -> dict[str, JointCommand] | None:
        try:
            return _commands(go_on(), script)
        except StopIteration:
            return None

    return _its_own(given, script, _CONTROLLER)


def closed(script: Script | None) -> str:
    """What a controller that is ended before its end raises in its last lines; empty if nothing, or if it has ended.

    Its script would otherwise be closed whenever Python forgets it, with a traceback that belongs to nothing.
    """
    if script is None:
        return ""
    try:
        _its_own(script.close, script, _CONTROLLER)
    except TaskFailed as failure:
        return f"on its end {text_of(failure)}"
    return ""


def _commands(given: Any, script: Script) -> dict[str, JointCommand]:
    wrong = f"{_named(given)} in place of commands"
    if isinstance(given, Mapping):
        for name, command in given.items():
            if not isinstance(name, str):
                wrong = f"{_named(name)} in place of a joint's name"
            elif not isinstance(command, JointCommand):
                wrong = f"{_named(command)} in place of a JointCommand to {printable(shortened(name))}"
            else:
                continue
            break
        else:
            return dict(given)
    raise TaskFailed(f"{_CONTROLLER} gives {wrong} ({_place_of_yield(script)})")


def _its_own(
    call: Callable[[], _Result], code: Any, who: str, expected: type[Exception] = TaskFailed
) -> _Result:
    """The result of a call of a task's own code.

    Raises:
        TaskFailed: It gives up, with a reason in any case, or raises anything that no caller expects of it, as one does
            ``expected``, or does not come to its end.
    """
    try:
        with patience.patience():
            return call()
    except patience.Endless as endless:
        took = f"it took {patience.LONGEST:g} s of the processor at one go"
        raise TaskFailed(f"{who} has no end: {took} ({_where(endless, code)})") from endless
    except TaskFailed as failure:
        if text_of(failure).strip():
            raise
        raise TaskFailed(f"{who} gave up without a reason ({_where(failure, code)})") from failure
    except (CompilationFailed, KeyboardInterrupt, expected):
        raise
    except (
        BaseException
    ) as error:  # as of cancelled tasks and the end of the program: it is that of one trial alone
        raise TaskFailed(told(error, code, who)) from error


def told(error: BaseException, code: Any, who: str) -> str:
    """Type, text and place of an exception: where it was raised, and the line of the task that led there."""
    text = printable(shortened(text_of(error)))
    return f"{who} raised {type(error).__name__}{text and ': '}{text} ({_where(error, code)})"


def _where(error: BaseException, code: Any) -> str:
    """Files and lines at which an exception of a task's own code came up."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename not in _OURS]
    own = getattr(code, "gi_code", getattr(_function_of(code), "__code__", None))
    lines = [frame for frame in frames if own is not None and frame.filename == own.co_filename]
    last = [*lines[-1:], *frames[-1:]]
    places = dict.fromkeys(f"{frame.filename}, line {frame.lineno}" for frame in last)
    if not last:  # it could not even be called
        places = {place_of(code): None}
    return ", from ".join(places)


def text_of(error: BaseException) -> str:
    """Text of an exception; empty where that cannot be told."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""


def place_of(code: Any) -> str:
    """File and first line of a function or class."""
    code = _function_of(code)
    try:
        return f"{inspect.getsourcefile(code)}, line {inspect.getsourcelines(code)[1]}"
    except (OSError, TypeError):  # without a source, as what is typed at a prompt
        return f"{getattr(code, '__module__', '?')}.{getattr(code, '__qualname__', type(code).__name__)}"


def _place_of_yield(script: Any) -> str:
    """File and line at which a generator waits, or the part of it that it yields from."""
    while isinstance(getattr(script, "gi_yieldfrom", None), Generator):
        script = script.gi_yieldfrom
    return f"{script.gi_code.co_filename}, line {script.gi_frame.f_lineno}"


def _function_of(code: Any) -> Any:
    while isinstance(code, partial):
        code = code.func
    return getattr(code, "gi_code", code)


def _numbers(given: Any, who: str, code: Any, taken: Collection[str] = ()) -> dict[str, float]:
    """Numbers by name, as they are; none has a name that is taken, however written, for tables know no case."""
    wrong = f"{_named(given)} in place of numbers by name"
    if isinstance(given, Mapping):
        found = (_wrong_number(name, value, taken) for name, value in given.items())
        wrong = next(filter(None, found), "")
    if wrong:
        raise TaskFailed(f"{who} gives {wrong} ({place_of(code)})")
    return {name: float(value) for name, value in given.items()}


def _wrong_number(name: Any, value: Any, taken: Collection[str]) -> str:
    """What is wrong with a number or its name; empty if nothing."""
    if not (isinstance(name, str) and isinstance(value, Real)):
        return f"{_named(value)} in place of a number for {printable(shortened(str(name)))}"
    if not name.strip():
        return f"{_named(value)} without a name"
    if name.casefold() in taken:
        return f"a number the name '{name}', which reports have for something else"
    return ""


def _named(given: Any) -> str:
    """Text or a number as it is written, anything else by its type."""
    if isinstance(given, str | int | float):
        return printable(shortened(repr(given)))
    return type(given).__name__
