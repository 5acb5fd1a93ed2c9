/* Client of a running simulation, for C11 and C++, on Linux; nothing to link.
 *
 *     hydro_sim sim;
 *     hydro_sim_controller arm;
 *     if (hydro_sim_open(&sim, "hydro_sim") || hydro_sim_take(&sim, &arm, "my controller", -1, 1)) ...
 *     for (;;) {
 *         if (hydro_sim_command(&arm, row, HYDRO_SIM_MODE_EFFORT, 0, 0, effort, 0, 0, 0)) break;
 *         if (hydro_sim_step(&arm, 1, 10.0)) break;   // the step that obeys; arm.state is the state after it
 *     }
 *
 * Functions return 0, or one of hydro_sim_result, which hydro_sim_explain tells in a line. None of them blocks without a
 * limit, and none but hydro_sim_open, hydro_sim_take and hydro_sim_leave allocates. Functions that read a state check no
 * rows. Whoever forks after hydro_sim_take lets the child call exec or hydro_sim_leave: a channel is taken as long as a
 * process has it. docs/shared_memory.md shows more.
 */
#ifndef HYDRO_SIM_H
#define HYDRO_SIM_H

#if !defined(__cplusplus) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hydro_sim_layout.h"

#ifndef F_OFD_SETLK
#error "include hydro_sim.h before other headers, or define _GNU_SOURCE"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    HYDRO_SIM_OK = 0,
    HYDRO_SIM_NOT_RUNNING = -1,
    HYDRO_SIM_NO_PERMISSION = -2,
    HYDRO_SIM_NO_SEGMENT = -3,
    HYDRO_SIM_OTHER_VERSION = -4,
    HYDRO_SIM_TAKEN = -5,
    HYDRO_SIM_ENDED = -6,
    HYDRO_SIM_TOO_LATE = -7,
    HYDRO_SIM_FAILED = -8,
    HYDRO_SIM_NO_MEMORY = -9,
    HYDRO_SIM_OUT_OF_RANGE = -10,
    HYDRO_SIM_NOT_FINITE = -11,
    HYDRO_SIM_NO_INTERFACE = -12,
    HYDRO_SIM_BROKEN_OFF = -13,
    HYDRO_SIM_CLOSED = -14,
    HYDRO_SIM_NOT_PAUSED = -15
} hydro_sim_result;

/* A simulation that is open. */
typedef struct {
    int64_t *words;
    size_t size; /* bytes */
    int descriptor;
    int64_t *control;
    int64_t *status;
    double spin; /* s for which waiting looks again before it sleeps; 0 at first */
    char name[208];
    int64_t version, owner; /* of the segment that was looked at, 0 before */
} hydro_sim;

/* ---- words ---- */

static inline int64_t hydro_sim_load(const int64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

static inline void hydro_sim_store(int64_t *word, int64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

/* A word that is a double. */
static inline double hydro_sim_real(const int64_t *word) {
    double value;
    memcpy(&value, word, sizeof value);
    return value;
}

static inline void hydro_sim_set_real(int64_t *word, double value) { memcpy(word, &value, sizeof value); }

static inline int64_t *hydro_sim_at(const hydro_sim *sim, int section, int stride, int64_t row) {
    return sim->words + sim->words[section] + (stride < 0 ? 0 : row * sim->words[stride]);
}

static inline int64_t hydro_sim_now(void) { /* ns */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline void hydro_sim_wake(int64_t *word) {
    syscall(SYS_futex, (void *)word, FUTEX_WAKE, INT_MAX, (void *)0, (void *)0, 0);
}

/* Whether a byte of the file is locked by way of another open file. */
static inline int hydro_sim_locked(int descriptor, int byte) {
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* ---- a simulation ---- */

static inline void hydro_sim_close(hydro_sim *sim) {
    if (sim->words) munmap(sim->words, sim->size);
    if (sim->descriptor >= 0) close(sim->descriptor);
    sim->words = NULL;
    sim->descriptor = -1;
}

/* Whether rows of a section, which begin at a word and have so many, lie within so many words. */
static inline int hydro_sim_is_within(int64_t begin, int64_t count, int64_t length, int64_t least, int64_t room) {
    return begin >= 0 && count >= 0 && length >= least && begin <= room && (!length || count <= (room - begin) / length);
}

/* Whether what the header says lies within the file. */
static inline int hydro_sim_is_whole(const hydro_sim *sim) {
    const int64_t *h = sim->words, size = (int64_t)(sim->size / sizeof(int64_t));
    return h[HYDRO_SIM_HEADER_NUM_SLOTS] >= 1 && h[HYDRO_SIM_HEADER_NUM_BANKS] >= 3 &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_AT_CONTROL], 1, HYDRO_SIM_CONTROL_END, 1, size) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_AT_STATUS], 1, HYDRO_SIM_STATUS_DROPPED, 1, size) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_AT_JOINTS], h[HYDRO_SIM_HEADER_NUM_JOINTS],
                               h[HYDRO_SIM_HEADER_JOINT_WORDS], HYDRO_SIM_JOINT_END, size) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_AT_SENSORS], h[HYDRO_SIM_HEADER_NUM_SENSORS],
                               h[HYDRO_SIM_HEADER_SENSOR_WORDS], HYDRO_SIM_SENSOR_END, size) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_AT_CHANNELS], h[HYDRO_SIM_HEADER_NUM_CHANNELS],
                               h[HYDRO_SIM_HEADER_CHANNEL_WORDS], HYDRO_SIM_CHANNEL_END, size) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_CHANNEL_BANKS], h[HYDRO_SIM_HEADER_NUM_BANKS],
                               h[HYDRO_SIM_HEADER_BANK_WORDS], HYDRO_SIM_BANK_END, h[HYDRO_SIM_HEADER_CHANNEL_WORDS]) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_BANK_COMMANDS], h[HYDRO_SIM_HEADER_NUM_JOINTS],
                               h[HYDRO_SIM_HEADER_COMMAND_WORDS], HYDRO_SIM_COMMAND_END,
                               h[HYDRO_SIM_HEADER_BANK_WORDS]) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_AT_RING], h[HYDRO_SIM_HEADER_NUM_SLOTS], h[HYDRO_SIM_HEADER_SLOT_WORDS],
                               HYDRO_SIM_SLOT_END, size) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_SLOT_COMMANDS], h[HYDRO_SIM_HEADER_NUM_CHANNELS], 1, 1,
                               h[HYDRO_SIM_HEADER_SLOT_WORDS]) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_SLOT_JOINTS], h[HYDRO_SIM_HEADER_NUM_JOINTS],
                               h[HYDRO_SIM_HEADER_JOINT_STATE_WORDS], HYDRO_SIM_JOINT_STATE_END,
                               h[HYDRO_SIM_HEADER_SLOT_WORDS]) &&
           hydro_sim_is_within(h[HYDRO_SIM_HEADER_SLOT_SENSORS], h[HYDRO_SIM_HEADER_NUM_SENSOR_VALUES], 1, 1,
                               h[HYDRO_SIM_HEADER_SLOT_WORDS]);
}

static inline int hydro_sim_check(hydro_sim *sim) {
    const int64_t *words = sim->words;
    if (words[HYDRO_SIM_HEADER_MAGIC] != HYDRO_SIM_MAGIC || hydro_sim_load(words + HYDRO_SIM_HEADER_READY) != 1)
        return HYDRO_SIM_NO_SEGMENT;
    sim->version = words[HYDRO_SIM_HEADER_VERSION];
    sim->owner = words[HYDRO_SIM_HEADER_OWNER_PID];
    if (sim->version >> 32 != HYDRO_SIM_MAJOR) return HYDRO_SIM_OTHER_VERSION;
    if (words[HYDRO_SIM_HEADER_SIZE] != (int64_t)sim->size || !hydro_sim_is_whole(sim)) return HYDRO_SIM_NO_SEGMENT;
    if (hydro_sim_load(words + words[HYDRO_SIM_HEADER_AT_STATUS] + HYDRO_SIM_STATUS_LIFE) == HYDRO_SIM_LIFE_RETIRED ||
        !hydro_sim_locked(sim->descriptor, HYDRO_SIM_OWNER_LOCK))
        return HYDRO_SIM_NOT_RUNNING;
    return HYDRO_SIM_OK;
}

/* The file of a simulation; a namespace's slashes become dots. */
static inline void hydro_sim_path(const hydro_sim *sim, char *path, size_t size) {
    char *c;
    snprintf(path, size, "/dev/shm/hydro_sim.%s", sim->name);
    for (c = path + sizeof "/dev/shm/hydro_sim." - 1; *c; ++c)
        if (*c == '/') *c = '.';
}

/* Open the simulation with this name: that of its node, with its namespace. */
static inline int hydro_sim_open(hydro_sim *sim, const char *name) {
    char path[256];
    size_t length;
    struct stat found;
    void *mapped;
    int result;
    memset(sim, 0, sizeof *sim);
    sim->descriptor = -1;
    while (*name == '/') ++name;
    if (snprintf(sim->name, sizeof sim->name, "%s", name) >= (int)sizeof sim->name) return HYDRO_SIM_NOT_RUNNING;
    for (length = strlen(sim->name); length && sim->name[length - 1] == '/';) sim->name[--length] = '\0';
    hydro_sim_path(sim, path, sizeof path);
    sim->descriptor = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (sim->descriptor < 0)
        return errno == ENOENT ? HYDRO_SIM_NOT_RUNNING : errno == EACCES ? HYDRO_SIM_NO_PERMISSION : HYDRO_SIM_NO_SEGMENT;
    if (fstat(sim->descriptor, &found) || !S_ISREG(found.st_mode) ||
        found.st_size < (off_t)(HYDRO_SIM_HEADER_END * sizeof(int64_t))) {
        hydro_sim_close(sim);
        return HYDRO_SIM_NO_SEGMENT;
    }
    if (found.st_uid != geteuid() && geteuid() != 0) {
        hydro_sim_close(sim);
        return HYDRO_SIM_NO_PERMISSION;
    }
    sim->size = (size_t)found.st_size;
    mapped = mmap(NULL, sim->size, PROT_READ | PROT_WRITE, MAP_SHARED, sim->descriptor, 0);
    sim->words = mapped == MAP_FAILED ? NULL : (int64_t *)mapped;
    result = sim->words ? hydro_sim_check(sim) : HYDRO_SIM_NO_MEMORY;
    if (result) {
        hydro_sim_close(sim);
        return result;
    }
    sim->control = hydro_sim_at(sim, HYDRO_SIM_HEADER_AT_CONTROL, -1, 0);
    sim->status = hydro_sim_at(sim, HYDRO_SIM_HEADER_AT_STATUS, -1, 0);
    return HYDRO_SIM_OK;
}

static inline int64_t hydro_sim_num_joints(const hydro_sim *sim) { return sim->words[HYDRO_SIM_HEADER_NUM_JOINTS]; }

static inline double hydro_sim_time_step(const hydro_sim *sim) {
    return hydro_sim_real(sim->words + HYDRO_SIM_HEADER_TIME_STEP);
}

/* Words of a row of the table of joints. */
static inline const int64_t *hydro_sim_joint(const hydro_sim *sim, int64_t row) {
    return hydro_sim_at(sim, HYDRO_SIM_HEADER_AT_JOINTS, HYDRO_SIM_HEADER_JOINT_WORDS, row);
}

/* Row of the joint with this name, -1 if there is none. */
static inline int64_t hydro_sim_find_joint(const hydro_sim *sim, const char *name) {
    int64_t row;
    for (row = 0; row < hydro_sim_num_joints(sim); ++row)
        if (!strncmp((const char *)(hydro_sim_joint(sim, row) + HYDRO_SIM_JOINT_NAME), name, 8 * HYDRO_SIM_NAME_WORDS))
            return row;
    return -1;
}

static inline int64_t hydro_sim_num_sensors(const hydro_sim *sim) { return sim->words[HYDRO_SIM_HEADER_NUM_SENSORS]; }

/* Words of a row of the table of sensors. */
static inline const int64_t *hydro_sim_sensor(const hydro_sim *sim, int64_t row) {
    return hydro_sim_at(sim, HYDRO_SIM_HEADER_AT_SENSORS, HYDRO_SIM_HEADER_SENSOR_WORDS, row);
}

/* Row of the sensor with this name, -1 if there is none. */
static inline int64_t hydro_sim_find_sensor(const hydro_sim *sim, const char *name) {
    int64_t row;
    for (row = 0; row < hydro_sim_num_sensors(sim); ++row)
        if (!strncmp((const char *)(hydro_sim_sensor(sim, row) + HYDRO_SIM_SENSOR_NAME), name, 8 * HYDRO_SIM_NAME_WORDS))
            return row;
    return -1;
}

/* Have the loop look at its words now. */
static inline void hydro_sim_ring(hydro_sim *sim) {
    int64_t *bell = sim->control + HYDRO_SIM_CONTROL_BELL;
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(sim->status + HYDRO_SIM_STATUS_ASLEEP, __ATOMIC_SEQ_CST)) hydro_sim_wake(bell);
}

/* Set a word of the control section that is no count, such as HYDRO_SIM_CONTROL_PERIOD_NS. */
static inline void hydro_sim_control(hydro_sim *sim, int word, int64_t value) {
    hydro_sim_store(sim->control + word, value);
    hydro_sim_ring(sim);
}

/* Stand still after the present step; steps that were asked for and are not taken yet are dropped. */
static inline void hydro_sim_pause(hydro_sim *sim) {
    hydro_sim_store(sim->control + HYDRO_SIM_CONTROL_PAUSED, 1);
    hydro_sim_store(sim->control + HYDRO_SIM_CONTROL_STEPS_DROPPED,
                    hydro_sim_load(sim->control + HYDRO_SIM_CONTROL_STEPS_ASKED));
    hydro_sim_ring(sim);
}

/* Run on after a pause, or after a step that failed. */
static inline void hydro_sim_resume(hydro_sim *sim) { hydro_sim_control(sim, HYDRO_SIM_CONTROL_PAUSED, 0); }

/* Ask for steps while paused (HYDRO_SIM_CONTROL_STEPS_ASKED), or for a reset (HYDRO_SIM_CONTROL_RESETS_ASKED). */
static inline void hydro_sim_ask(hydro_sim *sim, int word, int64_t number) {
    __atomic_fetch_add(sim->control + word, number, __ATOMIC_SEQ_CST);
    hydro_sim_ring(sim);
}

/* ---- states ---- */

static inline size_t hydro_sim_slot_words(const hydro_sim *sim) {
    return (size_t)sim->words[HYDRO_SIM_HEADER_SLOT_WORDS];
}

/* Number of states published, which is the serial number of the next one. */
static inline int64_t hydro_sim_head(const hydro_sim *sim) { return hydro_sim_load(sim->status + HYDRO_SIM_STATUS_HEAD); }

/* Copy the state with this number into slot, hydro_sim_slot_words long; 0 if it is there no more. */
static inline int hydro_sim_copy(const hydro_sim *sim, int64_t serial, int64_t *slot) {
    const int64_t *from = hydro_sim_at(sim, HYDRO_SIM_HEADER_AT_RING, HYDRO_SIM_HEADER_SLOT_WORDS,
                                       serial % sim->words[HYDRO_SIM_HEADER_NUM_SLOTS]);
    const int64_t whole = 2 * serial + 2;
    size_t i, length = hydro_sim_slot_words(sim);
    if (hydro_sim_load(from + HYDRO_SIM_SLOT_SEQUENCE) != whole) return 0;
    for (i = 0; i < length; ++i) slot[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(from + HYDRO_SIM_SLOT_SEQUENCE, __ATOMIC_RELAXED) == whole;
}

/* Whether it makes sense to wait on. */
static inline int hydro_sim_alive(const hydro_sim *sim) {
    if (hydro_sim_load(sim->status + HYDRO_SIM_STATUS_LIFE) == HYDRO_SIM_LIFE_RETIRED) return 0;
    if (hydro_sim_now() - hydro_sim_load(sim->status + HYDRO_SIM_STATUS_HEARTBEAT_NS) < 100000000) return 1;
    return hydro_sim_locked(sim->descriptor, HYDRO_SIM_OWNER_LOCK);
}

/* Sleep until a word that the loop wakes for is no longer seen, for at most 100 ms, and at most so many s. */
static inline void hydro_sim_sleep(hydro_sim *sim, int64_t *word, int64_t seen, double most) {
    int64_t *waiters = sim->control + HYDRO_SIM_CONTROL_WAITERS;
    /* Loops before layout 1.1 wake nobody for steps taken. */
    const int is_old = (uint32_t)sim->words[HYDRO_SIM_HEADER_VERSION] < 1 && word != sim->status + HYDRO_SIM_STATUS_HEAD;
    const double longest = is_old ? 0.002 : 0.1;
    const struct timespec limit = {0, (long)(1e9 * (most < longest ? most : longest))};
    __atomic_fetch_add(waiters, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == seen)
        syscall(SYS_futex, (void *)word, FUTEX_WAIT, (uint32_t)seen, &limit, (void *)0, 0);
    __atomic_fetch_add(waiters, -1, __ATOMIC_SEQ_CST);
}

/* Whether a word that the loop wakes for has come to count; of steps the low half counts, as Python adds to it alone. */
static inline int hydro_sim_has_come(const hydro_sim *sim, const int64_t *word, int64_t seen, int64_t count) {
    return word == sim->status + HYDRO_SIM_STATUS_STEPS_TAKEN ? (uint32_t)(seen - count) <= INT32_MAX : seen >= count;
}

/* Wait until it has; limit in s of the wall clock. A step that fails ends the wait at once for those who heed it. */
static inline int hydro_sim_await_word(hydro_sim *sim, int64_t *word, int64_t count, double limit, int heeds_failures) {
    const int64_t begin = hydro_sim_now();
    int64_t seen;
    while (!hydro_sim_has_come(sim, word, seen = hydro_sim_load(word), count)) {
        const double waited = 1e-9 * (double)(hydro_sim_now() - begin);
        const int is_late = !(waited < limit);
        if (!hydro_sim_alive(sim)) return HYDRO_SIM_ENDED;
        if ((is_late || heeds_failures) && hydro_sim_load(sim->status + HYDRO_SIM_STATUS_LIFE) == HYDRO_SIM_LIFE_PARKED)
            return HYDRO_SIM_FAILED;
        if (is_late) return HYDRO_SIM_TOO_LATE;
        if (waited >= sim->spin) hydro_sim_sleep(sim, word, seen, limit - waited);
    }
    return HYDRO_SIM_OK;
}

/* Wait until so many states have been published. */
static inline int hydro_sim_await(hydro_sim *sim, int64_t count, double limit) {
    return hydro_sim_await_word(sim, sim->status + HYDRO_SIM_STATUS_HEAD, count, limit, 0);
}

/* Whether so many steps may be asked for at a time: counts are compared by 32 bits. */
static inline int hydro_sim_is_count(int64_t number) { return number >= 1 && number <= (int64_t)1 << 30; }

/* Whether the loop has dropped any of the steps from one count to another since it had dropped so often. */
static inline int hydro_sim_are_dropped(const hydro_sim *sim, int64_t before, int64_t asked, int64_t drops) {
    const int64_t present = hydro_sim_load(sim->status + HYDRO_SIM_STATUS_DROPS);
    int64_t drop;
    for (drop = drops; drop < present; ++drop) {
        const int64_t *span = sim->status + HYDRO_SIM_STATUS_DROPPED + 2 * (drop % HYDRO_SIM_NUM_DROPS);
        const uint32_t from_begin = (uint32_t)(span[1] - before), to_end = (uint32_t)(asked - span[0]);
        if (from_begin - 1 < INT32_MAX && to_end - 1 < INT32_MAX) return 1;
    }
    return present - drops > HYDRO_SIM_NUM_DROPS; /* more than are told: some may have been among the others */
}

/* Take steps while paused (hydro_sim_pause), and wait until they are taken. Those that are left after the limit are
 * dropped, with all that were asked for before. */
static inline int hydro_sim_take_steps(hydro_sim *sim, int64_t number, double limit) {
    int64_t *taken, *asking, drops, failures, before;
    int result;
    if (!sim->words) return HYDRO_SIM_CLOSED;
    if (!hydro_sim_is_count(number)) return HYDRO_SIM_OUT_OF_RANGE;
    if (!hydro_sim_load(sim->control + HYDRO_SIM_CONTROL_PAUSED)) return HYDRO_SIM_NOT_PAUSED;
    taken = sim->status + HYDRO_SIM_STATUS_STEPS_TAKEN;
    asking = sim->control + HYDRO_SIM_CONTROL_STEPS_ASKED;
    if ((int64_t)(uint32_t)(hydro_sim_load(asking) - hydro_sim_load(taken)) + number > INT32_MAX)
        return HYDRO_SIM_OUT_OF_RANGE;
    drops = hydro_sim_load(sim->status + HYDRO_SIM_STATUS_DROPS);
    failures = hydro_sim_load(sim->status + HYDRO_SIM_STATUS_FAILURES);
    before = __atomic_fetch_add(asking, number, __ATOMIC_SEQ_CST);
    hydro_sim_ring(sim);
    result = hydro_sim_await_word(sim, taken, before + number, limit, 0);
    if (result) {
        hydro_sim_store(sim->control + HYDRO_SIM_CONTROL_STEPS_DROPPED, before + number);
        hydro_sim_ring(sim);
        return result;
    }
    if (!hydro_sim_are_dropped(sim, before, before + number, drops)) return HYDRO_SIM_OK;
    return hydro_sim_load(sim->status + HYDRO_SIM_STATUS_FAILURES) != failures ? HYDRO_SIM_FAILED : HYDRO_SIM_BROKEN_OFF;
}

/* Copy the newest state into slot, hydro_sim_slot_words long; wait for the first one if there is none. */
static inline int hydro_sim_newest(hydro_sim *sim, int64_t *slot, double limit) {
    const int64_t begin = hydro_sim_now();
    const int result = sim->words ? hydro_sim_await(sim, 1, limit) : HYDRO_SIM_CLOSED;
    while (!result && !hydro_sim_copy(sim, hydro_sim_head(sim) - 1, slot)) {
        if (!hydro_sim_alive(sim)) return HYDRO_SIM_ENDED;
        if (!(1e-9 * (double)(hydro_sim_now() - begin) < limit)) return HYDRO_SIM_TOO_LATE;
    }
    return result;
}

/* Wait for the state with this number and copy it; the newest one if the ring has gone round since. */
static inline int hydro_sim_wait(hydro_sim *sim, int64_t serial, int64_t *slot, double limit) {
    int result;
    if (serial < 0 || serial > INT64_MAX / 4) return HYDRO_SIM_OUT_OF_RANGE;
    result = sim->words ? hydro_sim_await(sim, serial + 1, limit) : HYDRO_SIM_CLOSED;
    if (result || hydro_sim_copy(sim, serial, slot)) return result;
    return hydro_sim_newest(sim, slot, limit);
}

static inline double hydro_sim_time(const int64_t *slot) { return hydro_sim_real(slot + HYDRO_SIM_SLOT_TIME); }

/* Words of a joint in a state: HYDRO_SIM_JOINT_STATE_POSITION and so on. */
static inline const int64_t *hydro_sim_joint_state(const hydro_sim *sim, const int64_t *slot, int64_t row) {
    return slot + sim->words[HYDRO_SIM_HEADER_SLOT_JOINTS] + row * sim->words[HYDRO_SIM_HEADER_JOINT_STATE_WORDS];
}

static inline double hydro_sim_position(const hydro_sim *sim, const int64_t *slot, int64_t row) {
    return hydro_sim_real(hydro_sim_joint_state(sim, slot, row) + HYDRO_SIM_JOINT_STATE_POSITION);
}

static inline double hydro_sim_velocity(const hydro_sim *sim, const int64_t *slot, int64_t row) {
    return hydro_sim_real(hydro_sim_joint_state(sim, slot, row) + HYDRO_SIM_JOINT_STATE_VELOCITY);
}

static inline double hydro_sim_effort(const hydro_sim *sim, const int64_t *slot, int64_t row) {
    return hydro_sim_real(hydro_sim_joint_state(sim, slot, row) + HYDRO_SIM_JOINT_STATE_EFFORT);
}

/* Value of a sensor; below HYDRO_SIM_SENSOR_COUNT of them, in the order of its kind. */
static inline double hydro_sim_sensor_value(const hydro_sim *sim, const int64_t *slot, int64_t row, int64_t value) {
    const int64_t first = hydro_sim_sensor(sim, row)[HYDRO_SIM_SENSOR_FIRST];
    return hydro_sim_real(slot + sim->words[HYDRO_SIM_HEADER_SLOT_SENSORS] + first + value);
}

#ifdef __cplusplus
}
#endif

#include "hydro_sim_controller.h"
#include "hydro_sim_messages.h"

#endif
