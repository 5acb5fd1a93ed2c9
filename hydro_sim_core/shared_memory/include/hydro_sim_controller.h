/* Controllers: channels, commands, lock-step. Part of hydro_sim.h, which includes it. */
#ifndef HYDRO_SIM_CONTROLLER_H
#define HYDRO_SIM_CONTROLLER_H

#ifdef __cplusplus
extern "C" {
#endif

/* A channel that is taken. */
typedef struct {
    hydro_sim *sim;
    int descriptor; /* holds the lock */
    int number;
    int64_t *channel;
    int64_t *commands; /* the set that is sent next: rows of HYDRO_SIM_COMMAND_END words */
    int64_t *state;    /* the slot that the commands answer */
} hydro_sim_controller;

/* Whether a controller has its channel, of a simulation that is open. */
static inline int hydro_sim_is_taken(const hydro_sim_controller *controller) {
    return controller->descriptor >= 0 && controller->sim->words;
}

static inline int hydro_sim_is_finite(double value) { return value >= -DBL_MAX && value <= DBL_MAX; }

/* Whether a joint has the interfaces of a mode; gains of the command let every drive follow positions and velocities. */
static inline int hydro_sim_has_interfaces(const hydro_sim *sim, int64_t row, int64_t mode) {
    const int64_t motion = HYDRO_SIM_MODE_POSITION | HYDRO_SIM_MODE_VELOCITY;
    int64_t has = hydro_sim_joint(sim, row)[HYDRO_SIM_JOINT_INTERFACES];
    if (has && (mode & HYDRO_SIM_MODE_GAINS)) has |= motion;
    return (mode & (motion | HYDRO_SIM_MODE_EFFORT)) && !(mode & ~(has | HYDRO_SIM_MODE_FLOATS));
}

/* What a joint is to do from the next send on: mode 0 leaves it to others; timeout in simulated s, 0 for ever. What is
 * refused leaves the command as it was. */
static inline int hydro_sim_command(hydro_sim_controller *controller, int64_t row, int64_t mode, double position,
                                    double velocity, double effort, double kp, double kd, double timeout) {
    int64_t *command;
    if (!hydro_sim_is_taken(controller)) return HYDRO_SIM_CLOSED;
    if (row < 0 || row >= hydro_sim_num_joints(controller->sim)) return HYDRO_SIM_OUT_OF_RANGE;
    if (mode && !hydro_sim_has_interfaces(controller->sim, row, mode)) return HYDRO_SIM_NO_INTERFACE;
    if (!hydro_sim_is_finite(position) || !hydro_sim_is_finite(velocity) || !hydro_sim_is_finite(effort) ||
        !hydro_sim_is_finite(kp) || kp < 0.0 || !hydro_sim_is_finite(kd) || kd < 0.0 || !hydro_sim_is_finite(timeout) ||
        timeout < 0.0)
        return HYDRO_SIM_NOT_FINITE;
    command = controller->commands + row * HYDRO_SIM_COMMAND_END;
    command[HYDRO_SIM_COMMAND_MODE] = mode;
    hydro_sim_set_real(command + HYDRO_SIM_COMMAND_POSITION, position);
    hydro_sim_set_real(command + HYDRO_SIM_COMMAND_VELOCITY, velocity);
    hydro_sim_set_real(command + HYDRO_SIM_COMMAND_EFFORT, effort);
    hydro_sim_set_real(command + HYDRO_SIM_COMMAND_KP, kp);
    hydro_sim_set_real(command + HYDRO_SIM_COMMAND_KD, kd);
    hydro_sim_set_real(command + HYDRO_SIM_COMMAND_TIMEOUT, timeout);
    return HYDRO_SIM_OK;
}

/* Publish the commands as they are now; they act in the next step that begins. */
static inline int hydro_sim_send(hydro_sim_controller *controller) {
    const int64_t *header;
    int64_t sequence, now, joints, row, word, *bank;
    if (!hydro_sim_is_taken(controller)) return HYDRO_SIM_CLOSED;
    header = controller->sim->words;
    sequence = controller->channel[HYDRO_SIM_CHANNEL_SEQUENCE];
    now = hydro_sim_now();
    joints = header[HYDRO_SIM_HEADER_NUM_JOINTS];
    bank = controller->channel + header[HYDRO_SIM_HEADER_CHANNEL_BANKS] +
           sequence % header[HYDRO_SIM_HEADER_NUM_BANKS] * header[HYDRO_SIM_HEADER_BANK_WORDS];
    __atomic_thread_fence(__ATOMIC_RELEASE); /* the set before is seen before its bank is written again */
    __atomic_store_n(bank + HYDRO_SIM_BANK_SEQUENCE, sequence + 1, __ATOMIC_RELAXED);
    for (row = 0; row < joints; ++row) {
        int64_t *command = controller->commands + row * HYDRO_SIM_COMMAND_END;
        int64_t *to = bank + header[HYDRO_SIM_HEADER_BANK_COMMANDS] + row * header[HYDRO_SIM_HEADER_COMMAND_WORDS];
        command[HYDRO_SIM_COMMAND_STAMP_NS] = now;
        for (word = 0; word < HYDRO_SIM_COMMAND_END; ++word) __atomic_store_n(to + word, command[word], __ATOMIC_RELAXED);
    }
    hydro_sim_store(controller->channel + HYDRO_SIM_CHANNEL_SEQUENCE, sequence + 1);
    return HYDRO_SIM_OK;
}

/* Publish the commands, permit so many steps, and wait for the state that they lead to: controller->state. Permits outlive
 * the limit, and are never taken back. Where others have had steps taken meanwhile, as in a pause, one more is permitted
 * until the commands act. */
static inline int hydro_sim_step(hydro_sim_controller *controller, int64_t number, double limit) {
    const int64_t begin = hydro_sim_now();
    hydro_sim *sim = controller->sim;
    int64_t target, permitted, at;
    if (!hydro_sim_is_count(number)) return HYDRO_SIM_OUT_OF_RANGE;
    if (!hydro_sim_is_taken(controller)) return HYDRO_SIM_CLOSED;
    at = sim->words[HYDRO_SIM_HEADER_SLOT_COMMANDS] + controller->number;
    permitted = hydro_sim_load(controller->channel + HYDRO_SIM_CHANNEL_PERMITTED) - 1;
    target = controller->state[HYDRO_SIM_SLOT_SERIAL] + number;
    if (permitted > target) target = permitted;
    for (;;) {
        const double left = limit - 1e-9 * (double)(hydro_sim_now() - begin);
        int64_t sent;
        int result = hydro_sim_send(controller);
        if (result) return result;
        sent = controller->channel[HYDRO_SIM_CHANNEL_SEQUENCE];
        hydro_sim_store(controller->channel + HYDRO_SIM_CHANNEL_PERMITTED, target + 1);
        hydro_sim_ring(sim);
        result = hydro_sim_await_word(sim, sim->status + HYDRO_SIM_STATUS_HEAD, target + 1, left, 1);
        if (!result) result = hydro_sim_newest(sim, controller->state, left > 1.0 ? left : 1.0);
        if (result || controller->state[at] >= sent) return result;
        target = controller->state[HYDRO_SIM_SLOT_SERIAL] + 1;
    }
}

/* Enter or leave lock-step, and wait until the loop has seen it. */
static inline int hydro_sim_set_lock_step(hydro_sim_controller *controller, int wanted) {
    const int64_t begin = hydro_sim_now();
    hydro_sim_store(controller->channel + HYDRO_SIM_CHANNEL_LOCK_STEP, wanted);
    hydro_sim_ring(controller->sim);
    while (hydro_sim_load(controller->channel + HYDRO_SIM_CHANNEL_IN_LOCK_STEP) != wanted) {
        const struct timespec moment = {0, 1000000};
        if (!hydro_sim_alive(controller->sim)) return HYDRO_SIM_ENDED;
        if (hydro_sim_now() - begin > INT64_C(10000000000)) return HYDRO_SIM_TOO_LATE;
        nanosleep(&moment, NULL);
    }
    return HYDRO_SIM_OK;
}

/* Give the channel back: its joints hold or float from the next step on, as if their commands had timed out, and it leaves
 * lock-step. More than once does nothing. */
static inline void hydro_sim_leave(hydro_sim_controller *controller) {
    if (controller->descriptor < 0) return;
    if (controller->channel && controller->sim->words) {
        /* A set that names no joint acts in the next step: it takes a while until somebody finds the channel free. */
        if (controller->commands) {
            memset(controller->commands, 0,
                   sizeof(int64_t) * HYDRO_SIM_COMMAND_END * (size_t)hydro_sim_num_joints(controller->sim));
            hydro_sim_send(controller);
        }
        hydro_sim_store(controller->channel + HYDRO_SIM_CHANNEL_LOCK_STEP, 0);
    }
    close(controller->descriptor);
    controller->descriptor = -1;
    if (controller->sim->words) hydro_sim_ring(controller->sim);
    free(controller->commands);
    free(controller->state);
    controller->commands = controller->state = NULL;
}

static inline int hydro_sim_lock_channel(hydro_sim_controller *controller, int wanted) {
    const int count = (int)controller->sim->words[HYDRO_SIM_HEADER_NUM_CHANNELS];
    const struct timespec moment = {0, 10000000};
    char path[64];
    int number, tries;
    if (wanted >= count || wanted < -1) return HYDRO_SIM_OUT_OF_RANGE;
    snprintf(path, sizeof path, "/proc/self/fd/%d", controller->sim->descriptor);
    controller->descriptor = open(path, O_RDWR | O_CLOEXEC); /* locks belong to what was opened, not to the process */
    if (controller->descriptor < 0) return HYDRO_SIM_NO_MEMORY;
    /* The owner has the lock of a channel for a moment, when its client has died. */
    for (tries = 0; tries < 5; ++tries) {
        for (number = wanted < 0 ? 0 : wanted; number < count && (wanted < 0 || number == wanted); ++number) {
            struct flock lock;
            memset(&lock, 0, sizeof lock);
            lock.l_type = F_WRLCK;
            lock.l_whence = SEEK_SET;
            lock.l_start = HYDRO_SIM_CHANNEL_LOCK + number;
            lock.l_len = 1;
            if (fcntl(controller->descriptor, F_OFD_SETLK, &lock) == 0) {
                controller->number = number;
                return HYDRO_SIM_OK;
            }
        }
        nanosleep(&moment, NULL);
    }
    close(controller->descriptor);
    controller->descriptor = -1;
    return HYDRO_SIM_TAKEN;
}

/* Take a channel (-1 for the first free one), and enter lock-step if wanted. A simulation whose last controller on it was
 * killed in lock-step is paused then: hydro_sim_resume lets it run on. */
static inline int hydro_sim_take(hydro_sim *sim, hydro_sim_controller *controller, const char *name, int channel,
                                 int lock_step) {
    char *shown;
    int result;
    memset(controller, 0, sizeof *controller);
    controller->sim = sim;
    controller->descriptor = -1;
    if (!sim->words) return HYDRO_SIM_CLOSED;
    result = hydro_sim_lock_channel(controller, channel);
    if (result) return result;
    controller->channel =
        hydro_sim_at(sim, HYDRO_SIM_HEADER_AT_CHANNELS, HYDRO_SIM_HEADER_CHANNEL_WORDS, controller->number);
    controller->commands = (int64_t *)calloc((size_t)hydro_sim_num_joints(sim) + 1, 8 * HYDRO_SIM_COMMAND_END);
    controller->state = (int64_t *)calloc(hydro_sim_slot_words(sim), sizeof(int64_t));
    result = controller->commands && controller->state ? HYDRO_SIM_OK : HYDRO_SIM_NO_MEMORY;
    controller->channel[HYDRO_SIM_CHANNEL_CLIENT_PID] = getpid();
    shown = (char *)(controller->channel + HYDRO_SIM_CHANNEL_CLIENT_NAME);
    memset(shown, 0, 32);
    memcpy(shown, name, strlen(name) < 31 ? strlen(name) : 31);
    if (!result && hydro_sim_load(controller->channel + HYDRO_SIM_CHANNEL_LOCK_STEP))
        hydro_sim_control(sim, HYDRO_SIM_CONTROL_PAUSED, 1);
    if (!result) result = hydro_sim_set_lock_step(controller, 0);
    if (!result) {
        hydro_sim_send(controller);
        hydro_sim_store(controller->channel + HYDRO_SIM_CHANNEL_PERMITTED, 0);
        result = lock_step ? hydro_sim_set_lock_step(controller, 1) : HYDRO_SIM_OK;
    }
    if (!result) result = hydro_sim_newest(sim, controller->state, 10.0);
    if (result) hydro_sim_leave(controller);
    return result;
}

#ifdef __cplusplus
}
#endif

#endif
