/* Layout of the shared memory of a running simulation, version 1.2.
 *
 * Written by hydro_sim_core/shared_memory/c_header.py from layout.py: change that one. hydro_sim.h beside it has
 * functions that use it; docs/shared_memory.md and decision 31 say who writes what, and in which memory order.
 *
 * A word has eight bytes; its number counts from the begin of the segment, or of its row. It is an int64_t, or a double
 * where it says so.
 */
#ifndef HYDRO_SIM_LAYOUT_H
#define HYDRO_SIM_LAYOUT_H

#include <stdint.h>

#define HYDRO_SIM_MAGIC INT64_C(5569074014368061768)
#define HYDRO_SIM_MAJOR 1
#define HYDRO_SIM_MINOR 2
#define HYDRO_SIM_OWNER_LOCK 0 /* byte that the owner keeps locked */
#define HYDRO_SIM_CHANNEL_LOCK 1 /* byte that the client of channel 0 keeps locked */
#define HYDRO_SIM_NAME_WORDS 16
#define HYDRO_SIM_NUM_BINS 2320
#define HYDRO_SIM_NUM_DROPS 8
#define HYDRO_SIM_SHORTEST 1e-07
#define HYDRO_SIM_BIN_WIDTH 0.01

/* What the segment is. Written by the owner before READY; constant afterwards. */
enum {
    HYDRO_SIM_HEADER_MAGIC = 0,
    HYDRO_SIM_HEADER_VERSION = 1,
    HYDRO_SIM_HEADER_READY = 2, /* 1 when all constant words are written (release) */
    HYDRO_SIM_HEADER_SIZE = 3, /* of the segment, bytes */
    HYDRO_SIM_HEADER_OWNER_PID = 4, /* for messages; whether the owner lives is told by its lock */
    HYDRO_SIM_HEADER_TIME_STEP = 5, /* double; s */
    HYDRO_SIM_HEADER_NUM_Q = 6,
    HYDRO_SIM_HEADER_NUM_V = 7,
    HYDRO_SIM_HEADER_NUM_JOINTS = 8,
    HYDRO_SIM_HEADER_NUM_LINKS = 9,
    HYDRO_SIM_HEADER_NUM_PAIRS = 10,
    HYDRO_SIM_HEADER_NUM_SENSORS = 11,
    HYDRO_SIM_HEADER_NUM_CHANNELS = 12,
    HYDRO_SIM_HEADER_NUM_BANKS = 13,
    HYDRO_SIM_HEADER_NUM_SLOTS = 14,
    HYDRO_SIM_HEADER_AT_CONTROL = 15, /* first word of a section, counted from the begin of the segment */
    HYDRO_SIM_HEADER_AT_STATUS = 16,
    HYDRO_SIM_HEADER_AT_HISTOGRAMS = 17,
    HYDRO_SIM_HEADER_HISTOGRAM_WORDS = 18, /* words from one row of a section to the next */
    HYDRO_SIM_HEADER_AT_JOINTS = 19,
    HYDRO_SIM_HEADER_JOINT_WORDS = 20,
    HYDRO_SIM_HEADER_AT_LINKS = 21,
    HYDRO_SIM_HEADER_LINK_WORDS = 22,
    HYDRO_SIM_HEADER_AT_PAIRS = 23,
    HYDRO_SIM_HEADER_PAIR_WORDS = 24,
    HYDRO_SIM_HEADER_AT_SENSORS = 25,
    HYDRO_SIM_HEADER_SENSOR_WORDS = 26,
    HYDRO_SIM_HEADER_AT_CHANNELS = 27,
    HYDRO_SIM_HEADER_CHANNEL_WORDS = 28,
    HYDRO_SIM_HEADER_CHANNEL_BANKS = 29, /* first bank, counted from the begin of its channel */
    HYDRO_SIM_HEADER_BANK_WORDS = 30,
    HYDRO_SIM_HEADER_BANK_COMMANDS = 31, /* first command, counted from the begin of its bank */
    HYDRO_SIM_HEADER_COMMAND_WORDS = 32,
    HYDRO_SIM_HEADER_AT_RING = 33,
    HYDRO_SIM_HEADER_SLOT_WORDS = 34,
    HYDRO_SIM_HEADER_SLOT_COMMANDS = 35, /* counted from the begin of a slot: (NUM_CHANNELS) Channel.SEQUENCE in force in this step */
    HYDRO_SIM_HEADER_SLOT_Q = 36, /* (NUM_Q) coordinates */
    HYDRO_SIM_HEADER_SLOT_V = 37, /* (NUM_V) velocities */
    HYDRO_SIM_HEADER_SLOT_JOINTS = 38, /* rows of JointState */
    HYDRO_SIM_HEADER_JOINT_STATE_WORDS = 39,
    HYDRO_SIM_HEADER_SLOT_LINKS = 40, /* rows of LinkState */
    HYDRO_SIM_HEADER_LINK_STATE_WORDS = 41,
    HYDRO_SIM_HEADER_SLOT_WRENCHES = 42, /* rows of Wrench */
    HYDRO_SIM_HEADER_WRENCH_WORDS = 43,
    HYDRO_SIM_HEADER_MOST_WRENCHES = 44,
    HYDRO_SIM_HEADER_SLOT_SENSORS = 45, /* values of the sensors, one after the other */
    HYDRO_SIM_HEADER_NUM_SENSOR_VALUES = 46,
    HYDRO_SIM_HEADER_SCENE_NAME = 48,
    HYDRO_SIM_HEADER_END = 64
};

/* What clients and the owner tell the loop. Every word is stored whole; after a change, ring BELL. */
enum {
    HYDRO_SIM_CONTROL_BELL = 0, /* futex (low half): add one after a change of a word here or of a channel, then wake all */
    HYDRO_SIM_CONTROL_WAITERS = 1, /* number of those who wait on HEAD or STEPS_TAKEN; add one before, subtract one after */
    HYDRO_SIM_CONTROL_PAUSED = 2, /* 1 to stand still after the present step */
    HYDRO_SIM_CONTROL_STEPS_ASKED = 3, /* steps to take while paused, all since the start: add n; STEPS_TAKEN follows */
    HYDRO_SIM_CONTROL_LOCK_STEP = 4, /* 1 to wait for a permit before every step, even where no channel is in lock-step */
    HYDRO_SIM_CONTROL_PERIOD_NS = 5, /* wall-clock time from one step to the next; 0 for as fast as possible */
    HYDRO_SIM_CONTROL_OVERRUN = 6, /* Overrun */
    HYDRO_SIM_CONTROL_MAX_BACKLOG_NS = 7, /* largest lateness that CATCH_UP works off */
    HYDRO_SIM_CONTROL_RESETS_ASKED = 8, /* add one to reset the simulation; the owner follows by RESETS_DONE */
    HYDRO_SIM_CONTROL_ATTEND = 9, /* owner only: 1 if the loop is to return to it before the next step */
    HYDRO_SIM_CONTROL_STEPS_DROPPED = 10, /* since 1.2: value of STEPS_ASKED up to which those that are left are wanted no more */
    HYDRO_SIM_CONTROL_END = 16
};

/* What becomes of periods that were missed. */
enum {
    HYDRO_SIM_OVERRUN_SKIP = 0, /* they are dropped, and counted */
    HYDRO_SIM_OVERRUN_CATCH_UP = 1 /* steps follow each other without pause until the schedule is met again */
};

/* What the loop tells. Written by the loop alone. */
enum {
    HYDRO_SIM_STATUS_HEAD = 0, /* futex (low half): number of states published, which is the serial number of the next one (release) */
    HYDRO_SIM_STATUS_LIFE = 1, /* Life */
    HYDRO_SIM_STATUS_HEARTBEAT_NS = 2, /* CLOCK_MONOTONIC when the loop last looked at the control words, at least ten times a second */
    HYDRO_SIM_STATUS_ASLEEP = 3, /* 1 while the loop waits on Control.BELL; nobody needs to wake it otherwise */
    HYDRO_SIM_STATUS_EPOCH = 4, /* number of restarts */
    HYDRO_SIM_STATUS_STEPS_TAKEN = 5, /* futex (low half) since 1.1: what it has taken or dropped of STEPS_ASKED (release) */
    HYDRO_SIM_STATUS_RESETS_DONE = 6,
    HYDRO_SIM_STATUS_WAITS_FOR = 7, /* channel whose permit is awaited, -1 if none */
    HYDRO_SIM_STATUS_FAILURES = 8, /* number of failed steps; FAILURE_TEXT is of the last one */
    HYDRO_SIM_STATUS_OVERRUNS = 9, /* steps that ended after the next one was due */
    HYDRO_SIM_STATUS_OVERRUNS_IN_A_ROW = 10, /* present number */
    HYDRO_SIM_STATUS_LONGEST_OVERRUN = 11, /* most in a row */
    HYDRO_SIM_STATUS_SKIPPED = 12, /* periods dropped */
    HYDRO_SIM_STATUS_TIMES_SKIPPED = 13, /* how often */
    HYDRO_SIM_STATUS_LATEST_NS = 14, /* largest lateness of a step's end */
    HYDRO_SIM_STATUS_STEPS = 15, /* steps since the start, in all epochs */
    HYDRO_SIM_STATUS_WALL_NS = 16, /* wall-clock time spent running, not paused */
    HYDRO_SIM_STATUS_TORN = 17, /* commands that could not be read whole; the ones before stayed in force */
    HYDRO_SIM_STATUS_SCHEDULING = 18, /* Scheduling: what the loop has obtained */
    HYDRO_SIM_STATUS_PRIORITY = 19, /* of SCHED_FIFO, 0 without */
    HYDRO_SIM_STATUS_CPU = 20, /* that it is pinned to, -1 if to none or several */
    HYDRO_SIM_STATUS_DROPS = 21, /* since 1.2: how often steps of a pause were dropped, written after DROPPED (release) */
    HYDRO_SIM_STATUS_FAILURE_TEXT = 24, /* 32 words UTF-8, written before FAILURES is counted up */
    HYDRO_SIM_STATUS_DROPPED = 56, /* STEPS_TAKEN before and after drop i, in words 2 (i mod NUM_DROPS) and the next */
    HYDRO_SIM_STATUS_END = 72
};

/* What the loop does. */
enum {
    HYDRO_SIM_LIFE_STARTING = 0,
    HYDRO_SIM_LIFE_RUNNING = 1,
    HYDRO_SIM_LIFE_PAUSED = 2,
    HYDRO_SIM_LIFE_WAITING = 3, /* for a permit, in lock-step */
    HYDRO_SIM_LIFE_PARKED = 4, /* a step failed: the state is the last good one; ends by a reset or by PAUSED = 0 */
    HYDRO_SIM_LIFE_STOPPED = 5, /* may run again */
    HYDRO_SIM_LIFE_RETIRED = 6 /* nothing will happen here any more: close, and open the name anew */
};

/* Privileges that the loop has obtained. */
enum {
    HYDRO_SIM_SCHEDULING_FIFO = 1,
    HYDRO_SIM_SCHEDULING_LOCKED_MEMORY = 2,
    HYDRO_SIM_SCHEDULING_PINNED = 4
};

/* Rows of the section of histograms: HistogramWords, then NUM_BINS bins. */
enum {
    HYDRO_SIM_HISTOGRAM_LATENESS = 0, /* from the deadline to the begin of the step */
    HYDRO_SIM_HISTOGRAM_STEP_TIME = 1,
    HYDRO_SIM_HISTOGRAM_PERIOD = 2, /* from the begin of one step to the begin of the next */
    HYDRO_SIM_HISTOGRAM_JITTER = 3, /* absolute difference of the period from the nominal one */
    HYDRO_SIM_HISTOGRAM_LATENCY = 4, /* from Command.STAMP_NS to the end of the first step that follows the command */
    HYDRO_SIM_HISTOGRAM_END = 5
};

/* Words of a histogram before its bins. */
enum {
    HYDRO_SIM_HISTOGRAM_WORDS_COUNT = 0,
    HYDRO_SIM_HISTOGRAM_WORDS_SUM = 1, /* double; s */
    HYDRO_SIM_HISTOGRAM_WORDS_SQUARES = 2, /* double; s^2 */
    HYDRO_SIM_HISTOGRAM_WORDS_MAX = 3, /* double; s */
    HYDRO_SIM_HISTOGRAM_WORDS_BINS = 8
};

/* A row of the table of joints with one coordinate; constant. */
enum {
    HYDRO_SIM_JOINT_NAME = 0,
    HYDRO_SIM_JOINT_KIND = 16, /* JointKind */
    HYDRO_SIM_JOINT_INTERFACES = 17, /* Mode bits that commands may have; 0 for a joint that cannot be driven */
    HYDRO_SIM_JOINT_Q = 18, /* its coordinate, counted in SLOT_Q; that of its master for a mimic joint */
    HYDRO_SIM_JOINT_V = 19,
    HYDRO_SIM_JOINT_MIMICS = 20, /* row of its master, -1 without */
    HYDRO_SIM_JOINT_LOWER = 21, /* double; rad or m; infinite without a limit */
    HYDRO_SIM_JOINT_UPPER = 22, /* double */
    HYDRO_SIM_JOINT_MAX_VELOCITY = 23, /* double */
    HYDRO_SIM_JOINT_MAX_EFFORT = 24, /* double */
    HYDRO_SIM_JOINT_KP = 25, /* double; gains that commands without gains have */
    HYDRO_SIM_JOINT_KD = 26, /* double */
    HYDRO_SIM_JOINT_END = 32
};

/* Kinds of joints. */
enum {
    HYDRO_SIM_JOINT_KIND_REVOLUTE = 0,
    HYDRO_SIM_JOINT_KIND_PRISMATIC = 1
};

/* A row of the table of links; constant. */
enum {
    HYDRO_SIM_LINK_NAME = 0,
    HYDRO_SIM_LINK_END = 16
};

/* A row of the table of pairs of shapes that may touch; constant. */
enum {
    HYDRO_SIM_PAIR_LINK_A = 0, /* row of the table of links, -1 for the world */
    HYDRO_SIM_PAIR_LINK_B = 1,
    HYDRO_SIM_PAIR_END = 2
};

/* A row of the table of sensors; constant. */
enum {
    HYDRO_SIM_SENSOR_NAME = 0,
    HYDRO_SIM_SENSOR_KIND = 16, /* SensorKind */
    HYDRO_SIM_SENSOR_FIRST = 17, /* its first value, counted from SLOT_SENSORS */
    HYDRO_SIM_SENSOR_COUNT = 18,
    HYDRO_SIM_SENSOR_LINK = 19,
    HYDRO_SIM_SENSOR_END = 24
};

/* Kinds of sensors and their values. */
enum {
    HYDRO_SIM_SENSOR_KIND_FORCE_TORQUE = 0, /* force x y z (N), torque x y z (N m), as ros2_control orders them */
    HYDRO_SIM_SENSOR_KIND_IMU = 1 /* orientation x y z w, angular velocity x y z (rad/s), linear acceleration x y z (m/s^2) */
};

/* A mailbox for one controller: words of the client, then words of the loop, then banks of commands. */
enum {
    HYDRO_SIM_CHANNEL_SEQUENCE = 0, /* number of command sets published (release); the last is in bank (SEQUENCE - 1) mod NUM_BANKS */
    HYDRO_SIM_CHANNEL_LOCK_STEP = 1, /* 1 if the loop is to wait for this channel's permit */
    HYDRO_SIM_CHANNEL_PERMITTED = 2, /* steps are permitted as long as Status.HEAD is below (release); never taken back */
    HYDRO_SIM_CHANNEL_CLIENT_PID = 3, /* for messages; whether a client is there is told by its lock */
    HYDRO_SIM_CHANNEL_CLIENT_NAME = 4, /* 4 words UTF-8 */
    HYDRO_SIM_CHANNEL_TAKEN = 16, /* SEQUENCE of the set in force, written by the loop from here on */
    HYDRO_SIM_CHANNEL_TAKEN_AT = 17, /* serial number of the first state that it led to */
    HYDRO_SIM_CHANNEL_TIMED_OUT = 18, /* joints whose command has timed out since the set in force was taken */
    HYDRO_SIM_CHANNEL_TIMEOUTS = 19, /* how often one has, since the start */
    HYDRO_SIM_CHANNEL_REFUSED = 20, /* commands refused since the start: not finite, or a mode that the joint does not have */
    HYDRO_SIM_CHANNEL_IN_LOCK_STEP = 21, /* LOCK_STEP as the loop has seen it: once it is 1, no step begins without a permit */
    HYDRO_SIM_CHANNEL_END = 24
};

/* A set of commands: one for every joint, in the order of the table. */
enum {
    HYDRO_SIM_BANK_SEQUENCE = 0, /* value of Channel.SEQUENCE that publishes it */
    HYDRO_SIM_BANK_END = 8
};

/* The command to a joint: effort = kp (POSITION - q) + kd (VELOCITY - v) + EFFORT, clipped to its limit. */
enum {
    HYDRO_SIM_COMMAND_MODE = 0, /* Mode bits; 0 leaves the joint to others */
    HYDRO_SIM_COMMAND_POSITION = 1, /* double */
    HYDRO_SIM_COMMAND_VELOCITY = 2, /* double */
    HYDRO_SIM_COMMAND_EFFORT = 3, /* double */
    HYDRO_SIM_COMMAND_KP = 4, /* double */
    HYDRO_SIM_COMMAND_KD = 5, /* double */
    HYDRO_SIM_COMMAND_STAMP_NS = 6, /* CLOCK_MONOTONIC when it was made, for statistics; 0 without */
    HYDRO_SIM_COMMAND_TIMEOUT = 7, /* double; simulated time for which it is in force, s; 0 for ever */
    HYDRO_SIM_COMMAND_END = 8
};

/* What a command gives; interfaces mix freely, by joint and within a joint. */
enum {
    HYDRO_SIM_MODE_POSITION = 1,
    HYDRO_SIM_MODE_VELOCITY = 2,
    HYDRO_SIM_MODE_EFFORT = 4,
    HYDRO_SIM_MODE_GAINS = 8, /* KP and KD of the command instead of those of the drive */
    HYDRO_SIM_MODE_FLOATS = 16 /* after its time-out the joint gives no effort; it holds its position otherwise */
};

/* A state of the ring, at the end of a step or after a change from outside; rows of other sections follow. */
enum {
    HYDRO_SIM_SLOT_SEQUENCE = 0, /* 2 SERIAL + 1 while it is written, 2 SERIAL + 2 when it is whole */
    HYDRO_SIM_SLOT_SERIAL = 1, /* number of the state; it is in slot SERIAL mod NUM_SLOTS */
    HYDRO_SIM_SLOT_EPOCH = 2,
    HYDRO_SIM_SLOT_STEP = 3, /* steps since the last reset */
    HYDRO_SIM_SLOT_TIME = 4, /* double; simulated time, s */
    HYDRO_SIM_SLOT_BEGAN_NS = 5, /* CLOCK_MONOTONIC at the begin of the step; 0 for a change from outside */
    HYDRO_SIM_SLOT_LATE_NS = 6, /* how long after its deadline it began */
    HYDRO_SIM_SLOT_STEP_NS = 7, /* how long it took */
    HYDRO_SIM_SLOT_FLAGS = 8, /* Flag */
    HYDRO_SIM_SLOT_PATCHES = 9, /* contact patches */
    HYDRO_SIM_SLOT_FACES = 10, /* contact faces */
    HYDRO_SIM_SLOT_DEEP = 11, /* pairs pushed past a medial surface */
    HYDRO_SIM_SLOT_FACELESS = 12, /* pairs that overlap without contact */
    HYDRO_SIM_SLOT_NUM_WRENCHES = 13, /* rows of Wrench that are told, those of the first patches */
    HYDRO_SIM_SLOT_FORCE = 14, /* double; sum of the magnitudes of all contact forces, N */
    HYDRO_SIM_SLOT_RESIDUAL = 15, /* double; relative momentum residual */
    HYDRO_SIM_SLOT_ITERATIONS = 16,
    HYDRO_SIM_SLOT_UNCONVERGED = 17, /* steps since the last reset whose residual stayed above the tolerance */
    HYDRO_SIM_SLOT_END = 24
};

/* Flags of a state. */
enum {
    HYDRO_SIM_FLAG_STEPPED = 1, /* a step led to it; 0 after a reset or another change from outside */
    HYDRO_SIM_FLAG_CONVERGED = 2
};

/* State of a joint. */
enum {
    HYDRO_SIM_JOINT_STATE_POSITION = 0, /* double; rad or m; of a mimic joint its own */
    HYDRO_SIM_JOINT_STATE_VELOCITY = 1, /* double */
    HYDRO_SIM_JOINT_STATE_EFFORT = 2, /* double; of its drive, mean over the step, N m or N */
    HYDRO_SIM_JOINT_STATE_STATUS = 3, /* JointStatus */
    HYDRO_SIM_JOINT_STATE_END = 4
};

/* What is to be said of a joint. */
enum {
    HYDRO_SIM_JOINT_STATUS_COMMANDED = 1, /* by a channel */
    HYDRO_SIM_JOINT_STATUS_TIMED_OUT = 2, /* the last command is too old: it holds or floats */
    HYDRO_SIM_JOINT_STATUS_REFUSED = 4, /* the last command was refused; the one before is in force */
    HYDRO_SIM_JOINT_STATUS_CLIPPED = 8, /* the command was beyond a limit and is followed up to it */
    HYDRO_SIM_JOINT_STATUS_SATURATED = 16, /* the drive gives its largest effort */
    HYDRO_SIM_JOINT_STATUS_AT_LIMIT = 32 /* the position is at a stop */
};

/* Pose of a link in the world: position (m), quaternion. */
enum {
    HYDRO_SIM_LINK_STATE_X = 0, /* double */
    HYDRO_SIM_LINK_STATE_Y = 1, /* double */
    HYDRO_SIM_LINK_STATE_Z = 2, /* double */
    HYDRO_SIM_LINK_STATE_QW = 3, /* double */
    HYDRO_SIM_LINK_STATE_QX = 4, /* double */
    HYDRO_SIM_LINK_STATE_QY = 5, /* double */
    HYDRO_SIM_LINK_STATE_QZ = 6, /* double */
    HYDRO_SIM_LINK_STATE_END = 8
};

/* Contact wrench on B of a pair, mean over the step, world axes, about a point of the patch. */
enum {
    HYDRO_SIM_WRENCH_PAIR = 0, /* row of the table of pairs */
    HYDRO_SIM_WRENCH_FACES = 1,
    HYDRO_SIM_WRENCH_POINT = 2, /* double; x y z, m */
    HYDRO_SIM_WRENCH_MOMENT = 5, /* double; N m */
    HYDRO_SIM_WRENCH_FORCE = 8, /* double; N */
    HYDRO_SIM_WRENCH_NORMAL_FORCE = 11, /* double; magnitude of the part along the normals, N */
    HYDRO_SIM_WRENCH_END = 12
};

#endif
