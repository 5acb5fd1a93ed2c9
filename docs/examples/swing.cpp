// Swings one joint of a running simulation, in lock-step: no step is taken before its command is there. As swing.py.
//
//     c++ -std=c++17 -O2 -I"$(python -m hydro_sim_core.shared_memory)" swing.cpp -o swing
//     ./swing [SIMULATION [JOINT [STEPS [SPIN]]]]
//
// SPIN, s, is how long it waits busily for each state, where a processor is free.

#include <hydro_sim.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr double amplitude = 0.3, frequency = 0.5;  // rad, Hz
constexpr double kp = 60.0, kd = 12.0;              // N m/rad, N m s/rad
constexpr double pi = 3.14159265358979323846;

int failed(const hydro_sim& simulation, int result) {
    char text[512];
    std::fprintf(stderr, "%s\n", hydro_sim_explain(&simulation, result, text, sizeof text));
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "hydro_sim";
    const int64_t steps = argc > 3 ? std::atoll(argv[3]) : 2000;

    hydro_sim simulation;
    if (int result = hydro_sim_open(&simulation, name)) return failed(simulation, result);
    simulation.spin = argc > 4 ? std::atof(argv[4]) : 0.0;
    hydro_sim_controller arm;
    if (int result = hydro_sim_take(&simulation, &arm, "swing", -1, 1)) return failed(simulation, result);

    const int64_t row = argc > 2 ? hydro_sim_find_joint(&simulation, argv[2]) : 0;
    if (row < 0) {
        std::fprintf(stderr, "%s: is not in the simulation\n", argv[2]);
        return 1;
    }
    const double begin = hydro_sim_time(arm.state);
    for (int64_t i = 0; i < steps; ++i) {
        const double phase = 2.0 * pi * frequency * (hydro_sim_time(arm.state) - begin);
        const double wanted = amplitude * std::sin(phase);
        const double q = hydro_sim_position(&simulation, arm.state, row);
        const double v = hydro_sim_velocity(&simulation, arm.state, row);
        const double effort = kp * (wanted - q) - kd * v;
        int result = hydro_sim_command(&arm, row, HYDRO_SIM_MODE_EFFORT, 0.0, 0.0, effort, 0.0, 0.0, 0.0);
        if (!result) result = hydro_sim_step(&arm, 1, 10.0);
        if (result) return failed(simulation, result);  // the simulation is paused then
    }
    std::printf("%.17g\n", hydro_sim_position(&simulation, arm.state, row));
    hydro_sim_leave(&arm);
    hydro_sim_close(&simulation);
    return 0;
}
