/* What went wrong, in a line: part of hydro_sim.h, which includes it. */
#ifndef HYDRO_SIM_MESSAGES_H
#define HYDRO_SIM_MESSAGES_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a result means, whatever it is about. */
static inline const char *hydro_sim_text(int result) {
    switch (result) {
    case HYDRO_SIM_OK: return "done";
    case HYDRO_SIM_NOT_RUNNING: return "no simulation of this name runs; start it";
    case HYDRO_SIM_NO_PERMISSION: return "the simulation belongs to another user; start the controller as that user";
    case HYDRO_SIM_NO_SEGMENT: return "the file of this name is no segment of hydro-sim; remove it";
    case HYDRO_SIM_OTHER_VERSION: return "the layout is of another version; use simulator and header of one release";
    case HYDRO_SIM_TAKEN: return "the channel is taken, or all are; end the controller that has it";
    case HYDRO_SIM_ENDED: return "the simulation has ended, was killed, or runs another scene; open its name anew";
    case HYDRO_SIM_TOO_LATE: return "the state did not come in time; is the simulation paused or stopped?";
    case HYDRO_SIM_FAILED: return "a step of the simulation failed; reset it, and let it run on";
    case HYDRO_SIM_NO_MEMORY: return "no memory is left; free some";
    case HYDRO_SIM_OUT_OF_RANGE:
        return "there is no such joint or channel, or a number of steps is below 1 or above 2^30; give one that is there";
    case HYDRO_SIM_NOT_FINITE: return "a command is not finite, or its gains or time-out are negative; give finite numbers";
    case HYDRO_SIM_NO_INTERFACE: return "the joint has no interface for that; its HYDRO_SIM_JOINT_INTERFACES tell what it has";
    case HYDRO_SIM_BROKEN_OFF: return "not all steps were taken, as others paused, reset or resumed it; see its newest state";
    case HYDRO_SIM_CLOSED: return "the simulation or the controller is closed; open or take it anew";
    case HYDRO_SIM_NOT_PAUSED: return "the simulation is not paused; pause it before it takes single steps";
    default: return "unknown result";
    }
}

/* Append to a text as printf does, up to its size. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline void hydro_sim_append(char *text, size_t size, const char *format, ...) {
    const size_t length = strlen(text);
    va_list values;
    va_start(values, format);
    if (length < size) vsnprintf(text + length, size - length, format, values);
    va_end(values);
}

/* Append the names of the simulations that run and that this user may open. */
static inline void hydro_sim_append_running(char *text, size_t size) {
    const char *prefix = "hydro_sim.";
    const char *before = "; these run: ";
    DIR *folder = opendir("/dev/shm");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int descriptor;
        if (strncmp(entry->d_name, prefix, strlen(prefix))) continue;
        descriptor = openat(dirfd(folder), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0) continue;
        if (hydro_sim_locked(descriptor, HYDRO_SIM_OWNER_LOCK)) {
            hydro_sim_append(text, size, "%s%s", before, entry->d_name + strlen(prefix));
            before = ", ";
        }
        close(descriptor);
    }
    if (folder) closedir(folder);
    if (*before == ';') hydro_sim_append(text, size, "; start it, none runs now");
}

/* Name of the client of a channel, as it has given it. */
static inline const char *hydro_sim_client_name(const int64_t *channel) {
    const char *name = (const char *)(channel + HYDRO_SIM_CHANNEL_CLIENT_NAME);
    return *name ? name : "a controller";
}

/* Append who has which channel. */
static inline void hydro_sim_append_holders(const hydro_sim *sim, char *text, size_t size) {
    const char *before = "channels are taken: ";
    int number;
    for (number = 0; number < sim->words[HYDRO_SIM_HEADER_NUM_CHANNELS]; ++number) {
        const int64_t *channel = hydro_sim_at(sim, HYDRO_SIM_HEADER_AT_CHANNELS, HYDRO_SIM_HEADER_CHANNEL_WORDS, number);
        if (!hydro_sim_locked(sim->descriptor, HYDRO_SIM_CHANNEL_LOCK + number)) continue;
        hydro_sim_append(text, size, "%s%d by %.31s (process %lld)", before, number, hydro_sim_client_name(channel),
                         (long long)channel[HYDRO_SIM_CHANNEL_CLIENT_PID]);
        before = "; ";
    }
    hydro_sim_append(text, size, "; end one of them");
}

/* Append why nothing comes. */
static inline void hydro_sim_append_reason(const hydro_sim *sim, char *text, size_t size) {
    const double silent = 1e-9 * (double)(hydro_sim_now() - hydro_sim_load(sim->status + HYDRO_SIM_STATUS_HEARTBEAT_NS));
    const int64_t life = hydro_sim_load(sim->status + HYDRO_SIM_STATUS_LIFE);
    const int64_t awaited = hydro_sim_load(sim->status + HYDRO_SIM_STATUS_WAITS_FOR);
    hydro_sim_append(text, size, "%s: what was waited for did not come; ", sim->name);
    if (life == HYDRO_SIM_LIFE_STOPPED)
        hydro_sim_append(text, size, "its run is stopped, as that of a node that is not active: start or activate it");
    else if (!hydro_sim_load(sim->status + HYDRO_SIM_STATUS_HEARTBEAT_NS))
        hydro_sim_append(text, size, "its loop has not begun to run: wait for longer");
    else if (silent > 1.0)
        hydro_sim_append(text, size, "the loop has given no sign of life for %.1f s: see whether process %lld is stopped",
                         silent, (long long)sim->owner);
    else if (life == HYDRO_SIM_LIFE_PAUSED)
        hydro_sim_append(text, size, "the simulation is paused: let it run on, or ask it for steps");
    else if (life == HYDRO_SIM_LIFE_WAITING && awaited >= 0) {
        const int64_t *channel = hydro_sim_at(sim, HYDRO_SIM_HEADER_AT_CHANNELS, HYDRO_SIM_HEADER_CHANNEL_WORDS, awaited);
        hydro_sim_append(text, size, "the simulation waits for %.31s (process %lld): see what it does",
                         hydro_sim_client_name(channel), (long long)channel[HYDRO_SIM_CHANNEL_CLIENT_PID]);
    } else if (life == HYDRO_SIM_LIFE_WAITING)
        hydro_sim_append(text, size, "the simulation is in lock-step: start its controller");
    else
        hydro_sim_append(text, size, "the simulation runs: wait for longer");
}

/* Append what can be told of a simulation that is not open. */
static inline void hydro_sim_append_unopened(const hydro_sim *sim, int result, char *text, size_t size) {
    char path[256];
    struct stat found;
    hydro_sim_path(sim, path, sizeof path);
    if (result == HYDRO_SIM_NOT_RUNNING && sim->owner)
        hydro_sim_append(text, size, "%s: its simulation (process %lld) has been killed; start it again", sim->name,
                         (long long)sim->owner);
    else if (result == HYDRO_SIM_NOT_RUNNING) {
        hydro_sim_append(text, size, "%s: no simulation of this name runs", sim->name);
        hydro_sim_append_running(text, size);
    } else if (result == HYDRO_SIM_NO_PERMISSION)
        hydro_sim_append(text, size, "%s: belongs to another user (%ld); start the controller as that user", path,
                         stat(path, &found) ? -1L : (long)found.st_uid);
    else if (result == HYDRO_SIM_NO_SEGMENT)
        hydro_sim_append(text, size, "%s: is no segment of hydro-sim; remove it", path);
    else if (result == HYDRO_SIM_OTHER_VERSION)
        hydro_sim_append(text, size,
                         "%s: the layout is %lld.%lld, and this header knows %d.%d; use simulator and header of one release",
                         path, (long long)(sim->version >> 32), (long long)(sim->version & 0xFFFFFFFF), HYDRO_SIM_MAJOR,
                         HYDRO_SIM_MINOR);
    else
        hydro_sim_append(text, size, "%s", hydro_sim_text(result));
}

/* Write what a result means here: with the names, versions and processes that it is about. Ask before the simulation is
 * closed. Returns text, which is cut to size and ends with a zero byte; 512 bytes are enough for most. */
static inline const char *hydro_sim_explain(const hydro_sim *sim, int result, char *text, size_t size) {
    if (!size) return text;
    *text = '\0';
    if (!sim->words)
        hydro_sim_append_unopened(sim, result, text, size);
    else if (result == HYDRO_SIM_TAKEN)
        hydro_sim_append_holders(sim, text, size);
    else if (result == HYDRO_SIM_TOO_LATE)
        hydro_sim_append_reason(sim, text, size);
    else if (result == HYDRO_SIM_FAILED)
        hydro_sim_append(text, size, "%s: a step failed (%.255s); reset the simulation, and let it run on", sim->name,
                         (const char *)(sim->status + HYDRO_SIM_STATUS_FAILURE_TEXT));
    else if (result == HYDRO_SIM_ENDED && hydro_sim_load(sim->status + HYDRO_SIM_STATUS_LIFE) == HYDRO_SIM_LIFE_RETIRED)
        hydro_sim_append(text, size, "%s: has ended, or runs another scene; open its name anew", sim->name);
    else if (result == HYDRO_SIM_ENDED)
        hydro_sim_append(text, size, "%s: its process (%lld) has been killed; start it again, and open it anew", sim->name,
                         (long long)sim->owner);
    else
        hydro_sim_append(text, size, "%s", hydro_sim_text(result));
    return text;
}

#ifdef __cplusplus
}
#endif

#endif
