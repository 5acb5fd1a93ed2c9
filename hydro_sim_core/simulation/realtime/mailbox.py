# mypy: allow-untyped-defs
"""Commands of other processes: from the banks of their channels into the drives."""

from __future__ import annotations

import math

from hydro_sim_core.compilation import kernel
from hydro_sim_core.compilation.instructions import fence, load
from hydro_sim_core.shared_memory.layout import Channel, Command, Mode, Status
from hydro_sim_core.simulation.realtime.loop_data import (
    CHANNEL,
    CLIPPED,
    MODE,
    REFUSED,
    STAMP,
    TAKEOVERS,
    TIMED_OUT,
)

_POSITION, _VELOCITY, _EFFORT, _GAINS = map(int, (Mode.POSITION, Mode.VELOCITY, Mode.EFFORT, Mode.GAINS))
_FLOATS = int(Mode.FLOATS)
_WORDS = int(Command.END)


@kernel
def take_commands(machine, loop, time):
    """Take what clients have published since the last step, and end what is too old at simulated ``time`` (s).

    Reads loop: dead, taken, words; loop.at: bank_words, banks, channel_words, channels, commands, num_banks,
    num_channels, status.
    Writes loop: bank, dead, taken, words.
    """
    at, words = loop.at, loop.words
    for c in range(at.num_channels):
        channel = at.channels + c * at.channel_words
        sequence = load(words, channel + Channel.SEQUENCE)
        if loop.dead[c] > 0:
            _end_all(machine, loop, c)
            # What the dead one had published is not followed any more; the next client may have published since.
            loop.dead[c], loop.taken[c] = 0, loop.dead[c] - 1
        if sequence != loop.taken[c]:
            bank = channel + at.banks + ((sequence - 1) % at.num_banks) * at.bank_words + at.commands
            for i in range(loop.bank.shape[0]):
                loop.bank[i] = words[bank + i]
            fence()
            # Beyond, the client may have begun to write to this bank again.
            if 0 <= load(words, channel + Channel.SEQUENCE) - sequence < at.num_banks - 1:
                _adopt(machine, loop, c, channel, time)
                loop.taken[c] = sequence
                words[channel + Channel.TAKEN] = sequence
                words[channel + Channel.TAKEN_AT] = words[at.status + Status.HEAD]
            else:
                words[at.status + Status.TORN] += 1
    _time_out(machine, loop, time)


@kernel
def _adopt(machine, loop, c, channel, time):
    """Follow the command set in ``loop.bank``, joint by joint.

    Reads loop: bank, bank_reals, joints, own, words.
    Writes loop: joints, own, until, words.
    """
    loop.words[channel + Channel.TIMED_OUT] = 0
    for j in range(loop.interfaces.shape[0]):
        row = j * _WORDS
        mode = loop.bank[row + Command.MODE]
        if mode == 0:
            if loop.joints[j, CHANNEL] == c:
                _end(machine, loop, j)
            continue
        if not _is_sound(loop, j, row, mode):
            loop.joints[j, REFUSED] = 1
            loop.words[channel + Channel.REFUSED] += 1
            continue
        _follow(machine, loop, j, row, mode)
        timeout = loop.bank_reals[row + Command.TIMEOUT]
        loop.until[j] = time + timeout if timeout > 0.0 else math.inf
        if loop.joints[j, CHANNEL] < 0:
            loop.own[TAKEOVERS] += 1
        loop.joints[j, CHANNEL], loop.joints[j, MODE] = c, mode
        loop.joints[j, REFUSED] = loop.joints[j, TIMED_OUT] = 0
        loop.own[STAMP] = loop.bank[row + Command.STAMP_NS]


@kernel
def _is_sound(loop, j, row, mode):
    """Whether a command gives finite numbers to interfaces that the joint has.

    Reads loop: bank_reals, interfaces.
    """
    what = mode & (_POSITION | _VELOCITY | _EFFORT)
    has = loop.interfaces[j]
    if has and mode & _GAINS:
        has |= _POSITION | _VELOCITY
    if what == 0 or (mode & ~(has | _FLOATS)) != 0:
        return False
    sound = 0.0 <= loop.bank_reals[row + Command.TIMEOUT] < math.inf
    if mode & _POSITION:
        sound = sound and math.isfinite(loop.bank_reals[row + Command.POSITION])
    if mode & _VELOCITY:
        sound = sound and math.isfinite(loop.bank_reals[row + Command.VELOCITY])
    if mode & _EFFORT:
        sound = sound and math.isfinite(loop.bank_reals[row + Command.EFFORT])
    if mode & _GAINS:
        kp, kd = loop.bank_reals[row + Command.KP], loop.bank_reals[row + Command.KD]
        sound = sound and 0.0 <= kp < math.inf and 0.0 <= kd < math.inf
    return sound


@kernel
def _follow(machine, loop, j, row, mode):
    """Write a sound command to the drive.

    Reads loop: bank_reals, effort_limit, joint_v, kd, kp; machine.model.tree: q_lower, q_upper, velocity_limit.
    Writes loop: joints; machine.drives: effort, kd, kp, limit, q_target, v_target.
    """
    drives, tree, i = machine.drives, machine.model.tree, loop.joint_v[j]
    given = loop.bank_reals
    kp = given[row + Command.KP] if mode & _GAINS else loop.kp[j]
    kd = given[row + Command.KD] if mode & _GAINS else loop.kd[j]
    wanted = given[row + Command.POSITION] if mode & _POSITION else 0.0
    speed = given[row + Command.VELOCITY] if mode & _VELOCITY else 0.0
    effort = given[row + Command.EFFORT] if mode & _EFFORT else 0.0
    place, pace, most = wanted, speed, loop.effort_limit[j]
    if mode & _POSITION:
        place = max(tree.q_lower[i], min(wanted, tree.q_upper[i]))
    pace = max(-tree.velocity_limit[i], min(speed, tree.velocity_limit[i]))
    loop.joints[j, CLIPPED] = 1 if place != wanted or pace != speed or abs(effort) > most else 0
    drives.kp[i] = kp if mode & _POSITION else 0.0
    drives.kd[i] = kd if mode & (_POSITION | _VELOCITY) else 0.0
    drives.q_target[i], drives.v_target[i], drives.effort[i], drives.limit[i] = place, pace, effort, most


@kernel
def _time_out(machine, loop, time):
    """End the commands that are too old.

    Reads loop: joints, until.
    """
    for j in range(loop.until.shape[0]):
        if loop.joints[j, CHANNEL] >= 0 and time >= loop.until[j] - 1e-9:  # times are sums of steps
            _end(machine, loop, j)


@kernel
def _end_all(machine, loop, c):
    """End the commands of a client that has died.

    Reads loop: joints.
    """
    for j in range(loop.joints.shape[0]):
        if loop.joints[j, CHANNEL] == c:
            _end(machine, loop, j)


@kernel
def _end(machine, loop, j):
    """End the command to a joint: it holds its position, or floats.

    Reads loop: effort_limit, joint_q, joint_v, joints, kd, kp, own, words; loop.at: channel_words, channels,
    num_channels; machine.state: q; machine.model.tree: q_lower, q_upper.
    Writes loop: joints, own, until, words; machine.drives: effort, kd, kp, limit, q_target, v_target.
    """
    drives, tree, i = machine.drives, machine.model.tree, loop.joint_v[j]
    holds = not loop.joints[j, MODE] & _FLOATS
    drives.kp[i] = loop.kp[j] if holds else 0.0
    drives.kd[i] = loop.kd[j] if holds else 0.0
    drives.q_target[i] = max(tree.q_lower[i], min(machine.state.q[loop.joint_q[j]], tree.q_upper[i]))
    drives.v_target[i], drives.effort[i], drives.limit[i] = 0.0, 0.0, loop.effort_limit[j]
    if loop.joints[j, CHANNEL] < loop.at.num_channels:
        channel = loop.at.channels + loop.joints[j, CHANNEL] * loop.at.channel_words
        loop.words[channel + Channel.TIMEOUTS] += 1
        loop.words[channel + Channel.TIMED_OUT] += 1
    loop.joints[j, CHANNEL], loop.joints[j, TIMED_OUT] = -1, 1
    loop.own[TAKEOVERS] += 1
    loop.until[j] = math.inf
