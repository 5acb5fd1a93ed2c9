# mypy: allow-untyped-defs
"""The loop that keeps time: waits for the deadline, takes commands, steps, tells the state. No Python runs in it."""

from __future__ import annotations

from hydro_sim_core.arithmetic import logarithm
from hydro_sim_core.compilation import entry, kernel
from hydro_sim_core.compilation.instructions import (
    add,
    clock_ns,
    fence,
    load,
    sleep_until,
    store,
    wait_for_change,
    wake_all,
)
from hydro_sim_core.shared_memory.layout import (
    BIN_WIDTH,
    NUM_BINS,
    SHORTEST,
    Channel,
    Control,
    Flag,
    Histogram,
    HistogramWords,
    Life,
    Overrun,
    Status,
)
from hydro_sim_core.simulation.integrators.other_steps import OtherStep, OtherSteps
from hydro_sim_core.simulation.integrators.substeps import Substeps, cross_time_step
from hydro_sim_core.simulation.realtime.loop_data import (
    ASKED,
    ASLEEP,
    BEGAN,
    DEADLINE,
    DROPPED,
    IN_PAUSE,
    LATE,
    READ,
    SERIAL,
    STAMP,
    START,
    TAKEOVERS,
    WRITTEN,
    Loop,
)
from hydro_sim_core.simulation.realtime.mailbox import take_commands
from hydro_sim_core.simulation.realtime.ring import tell_state
from hydro_sim_core.simulation.realtime.set_points import command_joints, is_asked_for, keep_set_points
from hydro_sim_core.simulation.realtime.steps_of_pause import follow, steps_left
from hydro_sim_core.simulation.stepping.model import MachineData
from hydro_sim_core.simulation.stepping.step import DONE, advance
from hydro_sim_core.solvers.solve import SolverEntry

#: Why the loop has returned: all steps are taken; Python is asked for; Python has to take the next step.
SPENT, ATTEND, STEP = range(3)

_STEPPED, _CATCH_UP = int(Flag.STEPPED), int(Overrun.CATCH_UP)
_RUNNING, _WAITING, _PAUSED = int(Life.RUNNING), int(Life.WAITING), int(Life.PAUSED)
_BILLION = 1_000_000_000
#: Longest time without a look at the control words, and from which on a wait can be interrupted, ns.
_HEARTBEAT, _LONG_WAIT = 100_000_000, 20_000_000
#: How long a permit is waited for awake, ns: a thread that sleeps takes half of that to wake; and for how many steps
#: that is not tried where it was not enough.
_AWAKE, _STEPS_ASLEEP = 200_000, 32
_LN_WIDTH = 0.009950330853168083
assert BIN_WIDTH == 0.01


@entry
def run(
    machine: MachineData,
    solve: SolverEntry,
    substeps: Substeps,
    other_step: OtherStep,
    other_steps: OtherSteps,
    loop: Loop,
    dt: float,
    most: int,
) -> int:
    """Take steps at their deadlines, or, with ``loop.own[IN_PAUSE]``, as they are asked for while paused.

    Args:
        machine: Data of the step.
        solve: Solver of the step's problem.
        substeps: Memory of error control.
        other_step: Takes a time step that is no convex one.
        other_steps: Memory of these.
        loop: Data of the loop; the next deadline is ``loop.own[DEADLINE]``, 0 for now.
        dt: Time step, s.
        most: Steps to take at most.

    Returns:
        ``SPENT``; ``ATTEND``; ``STEP`` if the step that is due cannot be taken whole, or is to be seen by Python first:
        its deadline has come, and its commands are taken.

    Reads loop: own, words; other_steps: are_taken; substeps: accuracy, counts; loop.at: status; machine.state: step;
    other_steps.radau: counts.
    Writes loop: own.
    """
    own, state = loop.own, machine.state
    for _ in range(most):
        if not _wait_for_turn(loop):
            return ATTEND
        began = clock_ns()
        led = own[TAKEOVERS]
        take_commands(machine, loop, state.step[0] * dt)
        # Python tells the controllers whose joints these are, and looks at what they want to see.
        if own[TAKEOVERS] != led or is_asked_for(machine, loop, dt):
            return STEP
        command_joints(machine, loop, dt)
        _keep_before(loop, state)
        if other_steps.are_taken != 0:
            status = other_step(machine, other_steps, dt)
        elif substeps.accuracy[0] > 0.0:
            status = cross_time_step(machine, solve, substeps, dt, False)
        else:
            status = advance(machine, solve, dt, 1, False, False)
        if status != DONE:
            own[ASKED] = status
            return STEP
        counts = other_steps.radau.counts if other_steps.are_taken != 0 else substeps.counts
        _keep_after(machine, loop, counts)
        _note_begin(loop, began)
        ended = clock_ns()
        tell_state(machine, loop, dt, ended - began, _STEPPED)
        _count_step(loop, began, clock_ns())
        if own[IN_PAUSE] != 0:
            follow(loop, loop.words[loop.at.status + Status.STEPS_TAKEN] + 1)
    return SPENT


@kernel(inline=True)
def _keep_before(loop, state):
    """Keep the state before a step.

    Reads state: q, v.
    Writes loop: q_before, v_before.
    """
    for i in range(state.q.shape[0]):
        loop.q_before[i] = state.q[i]
    for i in range(state.v.shape[0]):
        loop.v_before[i] = state.v[i]


@kernel(inline=True)
def _keep_after(machine, loop, counts):
    """Keep what a step that was taken leaves to the next: set points, counts, speeds of what is driven along.

    Reads machine.drives: v_after; machine.model.forest: prescribed.
    Writes loop: spent; machine.drives: v_target.
    """
    keep_set_points(loop.plan)
    for i in range(loop.spent.shape[0]):
        loop.spent[i] = counts[i]
    for k in range(machine.model.forest.prescribed.shape[0]):
        i = machine.model.forest.prescribed[k]
        machine.drives.v_target[i] = machine.drives.v_after[i]


@entry
def tell(machine: MachineData, loop: Loop, dt: float, took: int, flags: int) -> None:
    """Publish a state that Python has made; arguments as for ``tell_state``."""
    tell_state(machine, loop, dt, took, flags)
    if took > 0:
        _count_latency(loop, clock_ns())


@entry
def take(machine: MachineData, loop: Loop, time: float) -> None:
    """Take the commands of clients for a step that Python takes at simulated ``time`` (s)."""
    take_commands(machine, loop, time)


@entry
def is_short_of_permit(loop: Loop) -> bool:
    """Whether a client in lock-step has not permitted the next step, which Python takes; tells clients so.

    Reads loop.at: num_channels, status.
    Writes loop: words.
    """
    channel, words, status = _channel_without_permit(loop), loop.words, loop.at.status
    words[status + Status.WAITS_FOR] = channel if channel < loop.at.num_channels else -1
    words[status + Status.LIFE] = _WAITING if channel >= 0 else _RUNNING
    return channel >= 0


@entry
def ring(loop: Loop) -> None:
    """Have whoever waits on the bell look at the control words.

    Reads loop: words; loop.at: control.
    """
    bell = loop.at.control + Control.BELL
    add(loop.words, bell, 1)
    fence()
    wake_all(loop.words, bell)


@entry
def wait_on_bell(loop: Loop, seen: int, deadline: int) -> None:
    """Wait while the bell is as it was ``seen``, until a time of CLOCK_MONOTONIC, ns.

    Reads loop: words; loop.at: control.
    """
    wait_for_change(loop.words, loop.at.control + Control.BELL, seen, deadline)


@entry
def wait_for_state(loop: Loop, serial: int, deadline: int) -> int:
    """Wait for the state with a serial number, until a time of CLOCK_MONOTONIC, ns; return the number of states.

    Reads loop: words; loop.at: control, status.
    """
    words, head = loop.words, loop.at.status + Status.HEAD
    add(words, loop.at.control + Control.WAITERS, 1)
    fence()
    present = load(words, head)
    while present <= serial and clock_ns() < deadline:
        wait_for_change(words, head, present, deadline)
        present = load(words, head)
    add(words, loop.at.control + Control.WAITERS, -1)
    return present


# --- Waiting for the turn of a step


@kernel
def _wait_for_turn(loop):
    """Wait for the permits and for the deadline of the next step; False if Python is asked for.

    Reads loop: own, words; loop.at: control, num_channels, status.
    Writes loop: own, words.
    """
    words, at, own = loop.words, loop.at, loop.own
    while True:
        now = clock_ns()
        bell = load(words, at.control + Control.BELL)
        words[at.status + Status.HEARTBEAT_NS] = now
        if _asks_for_python(loop):
            return False
        channel = _channel_without_permit(loop)
        if own[IN_PAUSE] != 0:
            words[at.status + Status.WAITS_FOR], words[at.status + Status.LIFE] = -1, _PAUSED
            own[DEADLINE], own[BEGAN] = now, 0
            if steps_left(loop) > 0:
                return True
            _sleep_on_bell(loop, bell, now + _HEARTBEAT)
            continue
        words[at.status + Status.WAITS_FOR] = channel if channel < at.num_channels else -1
        if channel >= 0:
            words[at.status + Status.LIFE] = _WAITING
            is_urgent = words[at.control + Control.PERIOD_NS] <= 0 or own[DEADLINE] - now < _AWAKE
            # Controllers that were slow are waited for asleep for some steps: they may need this processor.
            is_urgent = is_urgent and channel < at.num_channels and own[ASLEEP] == 0
            if not is_urgent:
                _sleep_on_bell(loop, bell, now + _HEARTBEAT)
            elif not _rings_soon(loop, bell, now + _AWAKE):
                own[ASLEEP] = _STEPS_ASLEEP
            own[DEADLINE] = max(own[DEADLINE], clock_ns())
            own[BEGAN] = 0
            continue
        words[at.status + Status.LIFE] = _RUNNING
        if own[DEADLINE] == 0:
            own[DEADLINE] = now
        own[ASLEEP] = max(0, own[ASLEEP] - 1)
        # A deadline of a slower pace before is not waited for.
        own[DEADLINE] = min(own[DEADLINE], now + max(0, words[at.control + Control.PERIOD_NS]))
        left = own[DEADLINE] - now
        if left <= 0:
            return True
        if left <= _LONG_WAIT:
            sleep_until(own[DEADLINE])
            return not _asks_for_python(loop)
        _sleep_on_bell(loop, bell, min(now + _HEARTBEAT, own[DEADLINE] - _LONG_WAIT // 2))


@kernel
def _asks_for_python(loop):
    """Whether a control word asks for what Python does.

    Reads loop: own, words; loop.at: control, status.
    """
    words, control = loop.words, loop.at.control
    is_paused = words[control + Control.PAUSED] != 0
    asked = load(words, control + Control.ATTEND) != 0 or is_paused != (loop.own[IN_PAUSE] != 0)
    asked = asked or _leaves_followers_behind(loop)
    asked = asked or words[control + Control.STEPS_DROPPED] != loop.own[DROPPED] or steps_left(loop) < 0
    return asked or words[control + Control.RESETS_ASKED] != words[loop.at.status + Status.RESETS_DONE]


@kernel
def _leaves_followers_behind(loop):
    """Whether half of what is kept for followers of this process is still to be handed over to them.

    Reads loop: kept, own.
    """
    own, read = loop.own, loop.own[READ]
    if read < 0 or read >= own[SERIAL]:
        return False
    start = loop.kept[read % loop.kept.shape[0], START]
    is_full = start >= 0 and own[WRITTEN] - start > loop.contacts.shape[0] // 2
    return is_full or own[SERIAL] - read > loop.kept.shape[0] // 2


@kernel
def _channel_without_permit(loop):
    """A channel in lock-step that does not permit the next step; -1 if there is none.

    The number of channels where lock-step is on and none is in it.

    Reads loop: own, words; loop.at: channel_words, channels, control, num_channels.
    """
    at, words, is_led, short = loop.at, loop.words, False, -1
    for c in range(at.num_channels):
        channel = at.channels + c * at.channel_words
        in_lock_step = load(words, channel + Channel.LOCK_STEP)
        store(words, channel + Channel.IN_LOCK_STEP, in_lock_step)
        if in_lock_step == 1:
            is_led = True
            if short < 0 and load(words, channel + Channel.PERMITTED) <= loop.own[SERIAL]:
                short = c
    if short >= 0:
        return short
    return at.num_channels if words[at.control + Control.LOCK_STEP] == 1 and not is_led else -1


@kernel
def _rings_soon(loop, seen, until):
    """Whether the bell rings until a time of CLOCK_MONOTONIC, ns; waits for it awake.

    Reads loop: words; loop.at: control.
    """
    while load(loop.words, loop.at.control + Control.BELL) == seen:
        if clock_ns() >= until:
            return False
    return True


@kernel
def _sleep_on_bell(loop, seen, deadline):
    """Sleep until the bell rings, or until ``deadline``, ns.

    Reads loop: words; loop.at: control, status.
    """
    words, asleep = loop.words, loop.at.status + Status.ASLEEP
    store(words, asleep, 1)
    fence()
    wait_for_change(words, loop.at.control + Control.BELL, seen, deadline)
    store(words, asleep, 0)


# --- Timing of steps


@kernel
def _note_begin(loop, began):
    """Count the lateness of a step's begin and its distance from the one before.

    Reads loop: own, words; loop.at: control.
    Writes loop: own.
    """
    own, period = loop.own, loop.words[loop.at.control + Control.PERIOD_NS]
    own[LATE] = max(0, began - own[DEADLINE]) if period > 0 and own[IN_PAUSE] == 0 else 0
    if own[IN_PAUSE] == 0:
        _count(loop, Histogram.LATENESS, own[LATE])
    if own[BEGAN] > 0:
        _count(loop, Histogram.PERIOD, began - own[BEGAN])
        if period > 0:
            _count(loop, Histogram.JITTER, abs(began - own[BEGAN] - period))
    own[BEGAN] = began


@kernel
def _count_step(loop, began, ended):
    """Count a step that has ended, and set the deadline of the next.

    Reads loop: own, words; loop.at: control, status.
    Writes loop: own, words.
    """
    words, own, status = loop.words, loop.own, loop.at.status
    _count(loop, Histogram.STEP_TIME, ended - began)
    words[status + Status.STEPS] += 1
    _count_latency(loop, ended)
    period = words[loop.at.control + Control.PERIOD_NS]
    if period <= 0 or own[IN_PAUSE] != 0:
        own[DEADLINE] = ended
        return
    own[DEADLINE] += period
    late = ended - own[DEADLINE]
    if late <= 0:
        words[status + Status.OVERRUNS_IN_A_ROW] = 0
        return
    words[status + Status.OVERRUNS] += 1
    words[status + Status.OVERRUNS_IN_A_ROW] += 1
    in_a_row = words[status + Status.OVERRUNS_IN_A_ROW]
    words[status + Status.LONGEST_OVERRUN] = max(words[status + Status.LONGEST_OVERRUN], in_a_row)
    words[status + Status.LATEST_NS] = max(words[status + Status.LATEST_NS], late)
    backlog = words[loop.at.control + Control.MAX_BACKLOG_NS]
    if words[loop.at.control + Control.OVERRUN] == _CATCH_UP and late < backlog:
        return
    dropped = -(-late // period)
    words[status + Status.SKIPPED] += dropped
    words[status + Status.TIMES_SKIPPED] += 1
    own[DEADLINE] += dropped * period


@kernel
def _count_latency(loop, ended):
    """Count the time from a command's stamp to the end of the first step that followed it.

    Reads loop: own.
    Writes loop: own.
    """
    if loop.own[STAMP] > 0:
        _count(loop, Histogram.LATENCY, max(0, ended - loop.own[STAMP]))
        loop.own[STAMP] = 0


@kernel
def _count(loop, which, duration):
    """Count a duration (ns) in a histogram.

    Reads loop: reals, words; loop.at: histogram_words, histograms.
    Writes loop: reals, words.
    """
    first = loop.at.histograms + which * loop.at.histogram_words
    seconds, i = duration / _BILLION, 0
    if seconds > SHORTEST:
        i = min(1 + int(logarithm(seconds / SHORTEST) / _LN_WIDTH), NUM_BINS - 1)
    loop.words[first + HistogramWords.BINS + i] += 1
    loop.words[first + HistogramWords.COUNT] += 1
    loop.reals[first + HistogramWords.SUM] += seconds
    loop.reals[first + HistogramWords.SQUARES] += seconds * seconds
    loop.reals[first + HistogramWords.MAX] = max(loop.reals[first + HistogramWords.MAX], seconds)
