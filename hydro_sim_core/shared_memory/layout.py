"""Layout of the shared memory: a mailbox of commands and a ring of states, for clients in any language.

The segment is an array of words of eight bytes, little-endian. A word is a whole number (int64) unless ``REALS`` names
it, whose words are float64. Sections begin where the header says and rows are as long as it says: readers take offsets
and strides from there, so that words can be appended to a section without a new major version.

Who writes which word, in which memory order, and what becomes of torn reads and dead peers stands in decision 31.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

#: First word of a segment, and the version of this layout: readers refuse another major version.
MAGIC = int.from_bytes(b"HYDROSIM", "little")
MAJOR, MINOR = 1, 2
VERSION = MAJOR << 32 | MINOR

WORD = 8
#: Sections begin at multiples of this many words, so that writers of different sections share no cache line.
LINE = 8
#: Words of a name, which is UTF-8 and ends with zero bytes: 128 bytes.
NAME_WORDS = 16
#: Channels for controllers, banks of each, and slots of the ring.
NUM_CHANNELS, NUM_BANKS, NUM_SLOTS = 4, 4, 2048
#: Drops of steps that are told.
NUM_DROPS = 8
#: Most contact wrenches told in a state; ``Slot.PATCHES`` tells how many there are.
MOST_WRENCHES = 64
#: Bins of a histogram: bin 0 for up to ``SHORTEST`` (s), bin i for up to ``SHORTEST (1 + BIN_WIDTH)^i``; the last one
#: for all that is longer.
NUM_BINS, SHORTEST, BIN_WIDTH = 2320, 1e-7, 0.01

#: Bytes of the file that a process locks (``F_OFD_SETLK``, exclusive) as long as it plays this part.
OWNER_LOCK, CHANNEL_LOCK = 0, 1


class Header(IntEnum):
    """What the segment is. Written by the owner before ``READY``; constant afterwards."""

    MAGIC = 0
    VERSION = 1
    READY = 2  #: 1 when all constant words are written (release)
    SIZE = 3  #: of the segment, bytes
    OWNER_PID = 4  #: for messages; whether the owner lives is told by its lock
    TIME_STEP = 5  #: s
    NUM_Q = 6
    NUM_V = 7
    NUM_JOINTS = 8
    NUM_LINKS = 9
    NUM_PAIRS = 10
    NUM_SENSORS = 11
    NUM_CHANNELS = 12
    NUM_BANKS = 13
    NUM_SLOTS = 14
    AT_CONTROL = 15  #: first word of a section, counted from the begin of the segment
    AT_STATUS = 16
    AT_HISTOGRAMS = 17
    HISTOGRAM_WORDS = 18  #: words from one row of a section to the next
    AT_JOINTS = 19
    JOINT_WORDS = 20
    AT_LINKS = 21
    LINK_WORDS = 22
    AT_PAIRS = 23
    PAIR_WORDS = 24
    AT_SENSORS = 25
    SENSOR_WORDS = 26
    AT_CHANNELS = 27
    CHANNEL_WORDS = 28
    CHANNEL_BANKS = 29  #: first bank, counted from the begin of its channel
    BANK_WORDS = 30
    BANK_COMMANDS = 31  #: first command, counted from the begin of its bank
    COMMAND_WORDS = 32
    AT_RING = 33
    SLOT_WORDS = 34
    SLOT_COMMANDS = (
        35  #: counted from the begin of a slot: (NUM_CHANNELS) ``Channel.SEQUENCE`` in force in this step
    )
    SLOT_Q = 36  #: (NUM_Q) coordinates
    SLOT_V = 37  #: (NUM_V) velocities
    SLOT_JOINTS = 38  #: rows of ``JointState``
    JOINT_STATE_WORDS = 39
    SLOT_LINKS = 40  #: rows of ``LinkState``
    LINK_STATE_WORDS = 41
    SLOT_WRENCHES = 42  #: rows of ``Wrench``
    WRENCH_WORDS = 43
    MOST_WRENCHES = 44
    SLOT_SENSORS = 45  #: values of the sensors, one after the other
    NUM_SENSOR_VALUES = 46
    SCENE_NAME = 48
    END = 64


class Control(IntEnum):
    """What clients and the owner tell the loop. Every word is stored whole; after a change, ring ``BELL``."""

    BELL = 0  #: futex (low half): add one after a change of a word here or of a channel, then wake all
    WAITERS = (
        1  #: number of those who wait on ``HEAD`` or ``STEPS_TAKEN``; add one before, subtract one after
    )
    PAUSED = 2  #: 1 to stand still after the present step
    STEPS_ASKED = 3  #: steps to take while paused, all since the start: add n; ``STEPS_TAKEN`` follows
    LOCK_STEP = 4  #: 1 to wait for a permit before every step, even where no channel is in lock-step
    PERIOD_NS = 5  #: wall-clock time from one step to the next; 0 for as fast as possible
    OVERRUN = 6  #: ``Overrun``
    MAX_BACKLOG_NS = 7  #: largest lateness that ``CATCH_UP`` works off
    RESETS_ASKED = 8  #: add one to reset the simulation; the owner follows by ``RESETS_DONE``
    ATTEND = 9  #: owner only: 1 if the loop is to return to it before the next step
    STEPS_DROPPED = (
        10  #: since 1.2: value of ``STEPS_ASKED`` up to which those that are left are wanted no more
    )
    END = 16


class Overrun(IntEnum):
    """What becomes of periods that were missed."""

    SKIP = 0  #: they are dropped, and counted
    CATCH_UP = 1  #: steps follow each other without pause until the schedule is met again


class Status(IntEnum):
    """What the loop tells. Written by the loop alone."""

    HEAD = 0  #: futex (low half): number of states published, which is the serial number of the next one (release)
    LIFE = 1  #: ``Life``
    HEARTBEAT_NS = (
        2  #: CLOCK_MONOTONIC when the loop last looked at the control words, at least ten times a second
    )
    ASLEEP = 3  #: 1 while the loop waits on ``Control.BELL``; nobody needs to wake it otherwise
    EPOCH = 4  #: number of restarts
    STEPS_TAKEN = 5  #: futex (low half) since 1.1: what it has taken or dropped of ``STEPS_ASKED`` (release)
    RESETS_DONE = 6
    WAITS_FOR = 7  #: channel whose permit is awaited, -1 if none
    FAILURES = 8  #: number of failed steps; ``FAILURE_TEXT`` is of the last one
    OVERRUNS = 9  #: steps that ended after the next one was due
    OVERRUNS_IN_A_ROW = 10  #: present number
    LONGEST_OVERRUN = 11  #: most in a row
    SKIPPED = 12  #: periods dropped
    TIMES_SKIPPED = 13  #: how often
    LATEST_NS = 14  #: largest lateness of a step's end
    STEPS = 15  #: steps since the start, in all epochs
    WALL_NS = 16  #: wall-clock time spent running, not paused
    TORN = 17  #: commands that could not be read whole; the ones before stayed in force
    SCHEDULING = 18  #: ``Scheduling``: what the loop has obtained
    PRIORITY = 19  #: of SCHED_FIFO, 0 without
    CPU = 20  #: that it is pinned to, -1 if to none or several
    DROPS = 21  #: since 1.2: how often steps of a pause were dropped, written after ``DROPPED`` (release)
    FAILURE_TEXT = 24  #: 32 words UTF-8, written before ``FAILURES`` is counted up
    DROPPED = 56  #: ``STEPS_TAKEN`` before and after drop i, in words 2 (i mod ``NUM_DROPS``) and the next
    END = 72


class Life(IntEnum):
    """What the loop does."""

    STARTING = 0
    RUNNING = 1
    PAUSED = 2
    WAITING = 3  #: for a permit, in lock-step
    PARKED = 4  #: a step failed: the state is the last good one; ends by a reset or by PAUSED = 0
    STOPPED = 5  #: may run again
    RETIRED = 6  #: nothing will happen here any more: close, and open the name anew


class Scheduling(IntFlag):
    """Privileges that the loop has obtained."""

    FIFO = 1
    LOCKED_MEMORY = 2
    PINNED = 4


class Histogram(IntEnum):
    """Rows of the section of histograms: ``HistogramWords``, then ``NUM_BINS`` bins."""

    LATENESS = 0  #: from the deadline to the begin of the step
    STEP_TIME = 1
    PERIOD = 2  #: from the begin of one step to the begin of the next
    JITTER = 3  #: absolute difference of the period from the nominal one
    LATENCY = 4  #: from ``Command.STAMP_NS`` to the end of the first step that follows the command
    END = 5


class HistogramWords(IntEnum):
    """Words of a histogram before its bins."""

    COUNT = 0
    SUM = 1  #: s
    SQUARES = 2  #: s^2
    MAX = 3  #: s
    BINS = 8


class Joint(IntEnum):
    """A row of the table of joints with one coordinate; constant."""

    NAME = 0
    KIND = 16  #: ``JointKind``
    INTERFACES = 17  #: ``Mode`` bits that commands may have; 0 for a joint that cannot be driven
    Q = 18  #: its coordinate, counted in ``SLOT_Q``; that of its master for a mimic joint
    V = 19
    MIMICS = 20  #: row of its master, -1 without
    LOWER = 21  #: rad or m; infinite without a limit
    UPPER = 22
    MAX_VELOCITY = 23
    MAX_EFFORT = 24
    KP = 25  #: gains that commands without gains have
    KD = 26
    END = 32


class JointKind(IntEnum):
    """Kinds of joints."""

    REVOLUTE = 0
    PRISMATIC = 1


class Link(IntEnum):
    """A row of the table of links; constant."""

    NAME = 0
    END = 16


class Pair(IntEnum):
    """A row of the table of pairs of shapes that may touch; constant."""

    LINK_A = 0  #: row of the table of links, -1 for the world
    LINK_B = 1
    END = 2


class Sensor(IntEnum):
    """A row of the table of sensors; constant."""

    NAME = 0
    KIND = 16  #: ``SensorKind``
    FIRST = 17  #: its first value, counted from ``SLOT_SENSORS``
    COUNT = 18
    LINK = 19
    END = 24


class SensorKind(IntEnum):
    """Kinds of sensors and their values."""

    FORCE_TORQUE = 0  #: force x y z (N), torque x y z (N m), as ros2_control orders them
    IMU = 1  #: orientation x y z w, angular velocity x y z (rad/s), linear acceleration x y z (m/s^2)


class Channel(IntEnum):
    """A mailbox for one controller: words of the client, then words of the loop, then banks of commands."""

    SEQUENCE = (
        0  #: number of command sets published (release); the last is in bank (SEQUENCE - 1) mod NUM_BANKS
    )
    LOCK_STEP = 1  #: 1 if the loop is to wait for this channel's permit
    PERMITTED = 2  #: steps are permitted as long as ``Status.HEAD`` is below (release); never taken back
    CLIENT_PID = 3  #: for messages; whether a client is there is told by its lock
    CLIENT_NAME = 4  #: 4 words UTF-8
    TAKEN = 16  #: ``SEQUENCE`` of the set in force, written by the loop from here on
    TAKEN_AT = 17  #: serial number of the first state that it led to
    TIMED_OUT = 18  #: joints whose command has timed out since the set in force was taken
    TIMEOUTS = 19  #: how often one has, since the start
    REFUSED = 20  #: commands refused since the start: not finite, or a mode that the joint does not have
    IN_LOCK_STEP = 21  #: ``LOCK_STEP`` as the loop has seen it: once it is 1, no step begins without a permit
    END = 24


class Bank(IntEnum):
    """A set of commands: one for every joint, in the order of the table."""

    SEQUENCE = 0  #: value of ``Channel.SEQUENCE`` that publishes it
    END = 8


class Command(IntEnum):
    """The command to a joint: effort = kp (POSITION - q) + kd (VELOCITY - v) + EFFORT, clipped to its limit."""

    MODE = 0  #: ``Mode`` bits; 0 leaves the joint to others
    POSITION = 1
    VELOCITY = 2
    EFFORT = 3
    KP = 4
    KD = 5
    STAMP_NS = 6  #: CLOCK_MONOTONIC when it was made, for statistics; 0 without
    TIMEOUT = 7  #: simulated time for which it is in force, s; 0 for ever
    END = 8


class Mode(IntFlag):
    """What a command gives; interfaces mix freely, by joint and within a joint."""

    POSITION = 1
    VELOCITY = 2
    EFFORT = 4
    GAINS = 8  #: KP and KD of the command instead of those of the drive
    FLOATS = 16  #: after its time-out the joint gives no effort; it holds its position otherwise


class Slot(IntEnum):
    """A state of the ring, at the end of a step or after a change from outside; rows of other sections follow."""

    SEQUENCE = 0  #: 2 SERIAL + 1 while it is written, 2 SERIAL + 2 when it is whole
    SERIAL = 1  #: number of the state; it is in slot SERIAL mod NUM_SLOTS
    EPOCH = 2
    STEP = 3  #: steps since the last reset
    TIME = 4  #: simulated time, s
    BEGAN_NS = 5  #: CLOCK_MONOTONIC at the begin of the step; 0 for a change from outside
    LATE_NS = 6  #: how long after its deadline it began
    STEP_NS = 7  #: how long it took
    FLAGS = 8  #: ``Flag``
    PATCHES = 9  #: contact patches
    FACES = 10  #: contact faces
    DEEP = 11  #: pairs pushed past a medial surface
    FACELESS = 12  #: pairs that overlap without contact
    NUM_WRENCHES = 13  #: rows of ``Wrench`` that are told, those of the first patches
    FORCE = 14  #: sum of the magnitudes of all contact forces, N
    RESIDUAL = 15  #: relative momentum residual
    ITERATIONS = 16
    UNCONVERGED = 17  #: steps since the last reset whose residual stayed above the tolerance
    END = 24


class Flag(IntFlag):
    """Flags of a state."""

    STEPPED = 1  #: a step led to it; 0 after a reset or another change from outside
    CONVERGED = 2


class JointState(IntEnum):
    """State of a joint."""

    POSITION = 0  #: rad or m; of a mimic joint its own
    VELOCITY = 1
    EFFORT = 2  #: of its drive, mean over the step, N m or N
    STATUS = 3  #: ``JointStatus``
    END = 4


class JointStatus(IntFlag):
    """What is to be said of a joint."""

    COMMANDED = 1  #: by a channel
    TIMED_OUT = 2  #: the last command is too old: it holds or floats
    REFUSED = 4  #: the last command was refused; the one before is in force
    CLIPPED = 8  #: the command was beyond a limit and is followed up to it
    SATURATED = 16  #: the drive gives its largest effort
    AT_LIMIT = 32  #: the position is at a stop


class LinkState(IntEnum):
    """Pose of a link in the world: position (m), quaternion."""

    X = 0
    Y = 1
    Z = 2
    QW = 3
    QX = 4
    QY = 5
    QZ = 6
    END = 8


class Wrench(IntEnum):
    """Contact wrench on B of a pair, mean over the step, world axes, about a point of the patch."""

    PAIR = 0  #: row of the table of pairs
    FACES = 1
    POINT = 2  #: x y z, m
    MOMENT = 5  #: N m
    FORCE = 8  #: N
    NORMAL_FORCE = 11  #: magnitude of the part along the normals, N
    END = 12


#: Words of every section that are float64; all others are int64. Names and texts are bytes.
REALS: dict[type[IntEnum], frozenset[str]] = {
    Header: frozenset({"TIME_STEP"}),
    HistogramWords: frozenset({"SUM", "SQUARES", "MAX"}),
    Joint: frozenset({"LOWER", "UPPER", "MAX_VELOCITY", "MAX_EFFORT", "KP", "KD"}),
    Command: frozenset({"POSITION", "VELOCITY", "EFFORT", "KP", "KD", "TIMEOUT"}),
    Slot: frozenset({"TIME", "FORCE", "RESIDUAL"}),
    JointState: frozenset({"POSITION", "VELOCITY", "EFFORT"}),
    LinkState: frozenset({"X", "Y", "Z", "QW", "QX", "QY", "QZ"}),
    Wrench: frozenset({"POINT", "MOMENT", "FORCE", "NORMAL_FORCE"}),
}


@dataclass(frozen=True)
class Sizes:
    """Numbers that a segment's layout depends on.

    Attributes:
        num_q: Coordinates.
        num_v: Velocities.
        joints: Joints with one coordinate.
        links: Links.
        pairs: Pairs of shapes that may touch.
        sensors: Sensors.
        sensor_values: Values of all sensors together.
        slots: Slots of the ring.
    """

    num_q: int
    num_v: int
    joints: int
    links: int
    pairs: int
    sensors: int = 0
    sensor_values: int = 0
    slots: int = NUM_SLOTS


def header_words(sizes: Sizes) -> dict[Header, int]:
    """Offsets, strides and counts of a segment of these sizes, and its own size in bytes."""
    bank = _lines(Bank.END + sizes.joints * Command.END)
    channel = _lines(Channel.END + NUM_BANKS * bank)
    histogram = _lines(HistogramWords.BINS + NUM_BINS)
    slot = _slot_words(sizes)
    words = {
        Header.NUM_Q: sizes.num_q,
        Header.NUM_V: sizes.num_v,
        Header.NUM_JOINTS: sizes.joints,
        Header.NUM_LINKS: sizes.links,
        Header.NUM_PAIRS: sizes.pairs,
        Header.NUM_SENSORS: sizes.sensors,
        Header.NUM_CHANNELS: NUM_CHANNELS,
        Header.NUM_BANKS: NUM_BANKS,
        Header.NUM_SLOTS: sizes.slots,
        Header.HISTOGRAM_WORDS: histogram,
        Header.JOINT_WORDS: int(Joint.END),
        Header.LINK_WORDS: int(Link.END),
        Header.PAIR_WORDS: int(Pair.END),
        Header.SENSOR_WORDS: int(Sensor.END),
        Header.CHANNEL_WORDS: channel,
        Header.CHANNEL_BANKS: int(Channel.END),
        Header.BANK_WORDS: bank,
        Header.BANK_COMMANDS: int(Bank.END),
        Header.COMMAND_WORDS: int(Command.END),
        **slot,
    }
    sections = (
        (Header.AT_CONTROL, int(Control.END)),
        (Header.AT_STATUS, int(Status.END)),
        (Header.AT_HISTOGRAMS, Histogram.END * histogram),
        (Header.AT_JOINTS, sizes.joints * Joint.END),
        (Header.AT_LINKS, sizes.links * Link.END),
        (Header.AT_PAIRS, sizes.pairs * Pair.END),
        (Header.AT_SENSORS, sizes.sensors * Sensor.END),
        (Header.AT_CHANNELS, NUM_CHANNELS * channel),
        (Header.AT_RING, sizes.slots * slot[Header.SLOT_WORDS]),
    )
    end = int(Header.END)
    for at, length in sections:
        words[at] = end
        end += _lines(length)
    return {Header.MAGIC: MAGIC, Header.VERSION: VERSION, **words, Header.SIZE: end * WORD}


def _slot_words(sizes: Sizes) -> dict[Header, int]:
    wrenches = min(sizes.pairs, MOST_WRENCHES)
    rows = (
        (Header.SLOT_COMMANDS, NUM_CHANNELS),
        (Header.SLOT_Q, sizes.num_q),
        (Header.SLOT_V, sizes.num_v),
        (Header.SLOT_JOINTS, sizes.joints * JointState.END),
        (Header.SLOT_LINKS, sizes.links * LinkState.END),
        (Header.SLOT_WRENCHES, wrenches * Wrench.END),
        (Header.SLOT_SENSORS, sizes.sensor_values),
    )
    words = {
        Header.JOINT_STATE_WORDS: int(JointState.END),
        Header.LINK_STATE_WORDS: int(LinkState.END),
        Header.WRENCH_WORDS: int(Wrench.END),
        Header.MOST_WRENCHES: wrenches,
        Header.NUM_SENSOR_VALUES: sizes.sensor_values,
    }
    end = int(Slot.END)
    for at, length in rows:
        words[at] = end
        end += length
    return {**words, Header.SLOT_WORDS: _lines(end)}


def _lines(words: int) -> int:
    """The least multiple of ``LINE`` that is not less."""
    return -(-words // LINE) * LINE


def segment_path(name: str) -> str:
    """File of the segment with this name; a ROS name's slashes become dots.

    C and C++ open it with ``shm_open("/hydro_sim.NAME", O_RDWR, 0)``.
    """
    return "/dev/shm/hydro_sim." + name.strip("/").replace("/", ".")
