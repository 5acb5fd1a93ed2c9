"""Sensors in the shared memory: what Python and C read there is what the sensors read of the same state."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.shared_memory.c_header import INCLUDE
from hydro_sim_core.shared_memory.client import connect
from hydro_sim_core.shared_memory.layout import SensorKind
from hydro_sim_core.shared_memory.state import State
from hydro_sim_core.simulation import FixedRateRunner, Snapshot
from support.simulation.lift import lift_scene
from support.simulation.runners import wait_until

NAME = f"test_sensors_{os.getpid()}"
MOUNT = {"xyz": (0.02, 0.0, 0.05), "rpy": (0.3, -0.2, 0.9)}
STEPS = 120


Base = Literal["fixed", "kinematic"]


def swinging(base: Base = "fixed", solver: dict[str, Any] | None = None) -> hs.World:
    """An arm that swings onto a ball, with a plate and a wheel at its hand, and sensors everywhere."""
    scene = hs.SceneBuilder("swinging", time_step=1e-3, solver=solver)
    model = scene.add_model("arm", base=base, xyz=(0, 0, 0.4))
    model.add_link("base")
    model.add_link("upper", mass=1.0, inertia=(0.01, 0.012, 0.005), center_of_mass=(0.15, 0.0, 0.0))
    hand = model.add_link("hand", mass=0.5, inertia=(2e-3, 3e-3, 1e-3), center_of_mass=(0.02, 0.01, 0.0))
    hand.add_shape("sphere", radius=0.05, xyz=(0.05, 0, 0), modulus=1e6)
    model.add_link("plate", mass=0.2, inertia=(1e-3, 2e-3, 3e-3))
    model.add_link("wheel", mass=0.3, inertia=(1e-3, 1e-3, 2e-3))
    model.add_joint("shoulder", "continuous", "base", "upper", axis=(0, 1, 0))
    model.add_joint("mount", "fixed", "upper", "hand", xyz=(0.3, 0, 0), rpy=(0.1, 0.2, 0.3))
    model.add_joint("flange", "fixed", "hand", "plate", xyz=(0.0, 0.02, 0.01), rpy=(0.0, 0.4, 0.0))
    model.add_joint("axle", "continuous", "plate", "wheel", xyz=(0.0, 0.05, 0.0), axis=(0.1, 1, 0.2))
    ball = scene.add_body("ball", mass=0.4, xyz=(0.34, 0.0, 0.27))
    ball.add_shape("sphere", radius=0.06, modulus=1e6)
    scene.add_ground(height=0.21)
    for name, link, direction in (("ft", "hand", "child_to_parent"), ("axle_ft", "wheel", "parent_to_child")):
        scene.add_sensor(name, "force_torque", link, measure_direction=direction, **MOUNT)
    scene.add_sensor("base_ft", "force_torque", "upper")
    noise = {"gyroscope_noise_density": 1e-3, "accelerometer_noise_density": 2e-3, "seed": 3}
    scene.add_sensor("imu", "imu", "plate", gyroscope_bias=(0.1, 0.2, 0.3), **MOUNT, **noise)
    scene.add_sensor("still", "imu", "base")
    return hs.World(scene.build())


def readings(snapshot: Snapshot, world: hs.World) -> dict[str, np.ndarray]:
    """What the sensors read, in the order of the layout."""
    told = {}
    for name in world.sensors:
        sensor = world.sensors[name].sensor
        one = sensor.read(snapshot)
        if hasattr(one, "torque"):
            told[name] = np.concatenate([one.force, one.torque])
        else:
            turn = one.orientation[[1, 2, 3, 0]]
            told[name] = np.concatenate([turn, one.angular_velocity, one.specific_force])
    return told


def assert_same(state: State, snapshot: Snapshot, world: hs.World) -> None:
    for name, wanted in readings(snapshot, world).items():
        got = state.sensors[name]
        if len(wanted) == 10 and got[:4] @ wanted[:4] < 0.0:  # the same orientation
            wanted[:4] *= -1.0
        size = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(got, wanted, atol=1e-11 * size, err_msg=f"{name} in step {snapshot.step}")


Run = Callable[..., tuple[hs.World, list[Snapshot], dict[int, State]]]


@pytest.fixture
def run() -> Run:
    """Run the arm, with a wrench and a spring that push it: the world, snapshots, and states by step."""

    def run(
        in_loop: bool, base: Base = "fixed", solver: dict[str, Any] | None = None
    ) -> tuple[hs.World, list[Snapshot], dict[int, State]]:
        world, heard, states = swinging(base, solver), [], {}
        world.apply_wrench("plate", (0.1, 0.2, -0.3, 1.0, -2.0, 0.5))
        world.pull("wheel", (0.01, 0.02, 0.0), (0.5, 0.1, 0.5), stiffness=30.0, damping=0.5)
        if base == "kinematic":  # it comes to speed with a jump
            world.move("arm", V_WB=(0.5, -2.0, 1.0, 0.1, 0.2, -0.3))
        runner = FixedRateRunner(world, math.inf, shared_name=NAME)

        def end(world: hs.World) -> None:
            if world.step_count >= STEPS - 1:
                runner.pause()

        runner.add_follower(heard.append)
        runner.add_command_source(end, (lambda world: STEPS - 1 - world.step_count) if in_loop else None)
        with connect(NAME) as client:
            assert [sensor.name for sensor in client.sensors] == list(world.sensors)
            assert [sensor.kind for sensor in client.sensors][2:4] == [
                SensorKind.FORCE_TORQUE,
                SensorKind.IMU,
            ]
            runner.start()
            wait_until(lambda: runner.paused)
            runner.stop()
            # Steps in which bodies meet too fast for one are Python's.
            assert (runner.steps_in_loop > 0.8 * STEPS) if in_loop else (runner.steps_in_loop == 0)
            for serial in range(client.newest().serial + 1):
                state = client._copy(serial)
                if state is not None:
                    states[state.step] = state
            runner.close()
        return world, heard, states

    return run


@pytest.mark.parametrize("in_loop", [True, False], ids=["loop", "python"])
def test_states_tell_what_sensors_read(run: Run, in_loop: bool) -> None:
    """In every state, through a touch, and at the begin, when nothing moves and nothing touches."""
    world, heard, states = run(in_loop)
    assert len(heard) == STEPS
    assert any("hand" in (patch.name_a, patch.name_b) for one in heard for patch in one.contacts)
    compared = [snapshot for snapshot in heard if snapshot.step in states]
    assert len(compared) > STEPS - 10
    for snapshot in compared:
        assert_same(states[snapshot.step], snapshot, world)
    still = states[0].sensors["still"]
    np.testing.assert_allclose(still, [0, 0, 0, 1, 0, 0, 0, 0, 0, 9.81], atol=1e-12)


@pytest.mark.parametrize("base", ["fixed", "kinematic"])
@pytest.mark.parametrize("solver", [{"accuracy": 1e-5}, {"model": "continuous"}], ids=["error", "continuous"])
@pytest.mark.parametrize("in_loop", [True, False], ids=["loop", "python"])
def test_so_they_do_where_steps_follow_the_motion(
    run: Run, in_loop: bool, solver: dict[str, Any], base: Base
) -> None:
    """Momentum changes in the middle of such a step, also on a base that is led; they told it of its begin."""
    world, heard, states = run(in_loop, base, solver)
    assert world.follows_motion
    compared = [snapshot for snapshot in heard if snapshot.step in states]
    assert {1, STEPS} <= {snapshot.step for snapshot in compared}
    for snapshot in compared:
        assert_same(states[snapshot.step], snapshot, world)


@pytest.mark.parametrize("lifted", ["carriage", "load"])
def test_weight_that_is_taken_off_does_not_grow_with_the_mass_of_a_copy(tmp_path: Path, lifted: str) -> None:
    """A joint without a drive transmits nothing along its axis, whatever mass a batch has given to a copy."""
    batch = hs.BatchWorld(lift_scene(tmp_path, lifted), 2, "cpu")
    batch.parameters["mass"][1] *= 2.0
    world = batch.copy_of(1)
    heard: list[Snapshot] = []
    runner = FixedRateRunner(world, math.inf, shared_name=NAME)
    runner.add_follower(heard.append)
    runner.add_command_source(
        lambda world: runner.pause() if world.step_count >= 9 else None, lambda world: 9 - world.step_count
    )
    with connect(NAME) as client:
        runner.start()
        wait_until(lambda: runner.paused)
        runner.stop()
        state = client.newest()
    runner.close()
    assert runner.steps_in_loop > 0
    assert_same(state, heard[-1], world)
    assert state.sensors["ft"][2] == pytest.approx(0.0, abs=1e-12)
    assert abs(state.sensors["load_ft"][2]) > 1.0


_PROGRAM = r"""
#include <hydro_sim.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    hydro_sim sim;
    int64_t row, k, *state;
    if (hydro_sim_open(&sim, argv[argc - 1])) return 1;
    state = calloc(hydro_sim_slot_words(&sim), sizeof(int64_t));
    if (!state || hydro_sim_newest(&sim, state, 1.0)) return 2;
    for (row = 0; row < hydro_sim_num_sensors(&sim); ++row) {
        const int64_t *sensor = hydro_sim_sensor(&sim, row);
        printf("%s", (const char *)sensor);
        for (k = 0; k < sensor[HYDRO_SIM_SENSOR_COUNT]; ++k)
            printf(" %.17g", hydro_sim_sensor_value(&sim, state, row, k));
        printf("\n");
    }
    printf("%d\n", (int)hydro_sim_find_sensor(&sim, "imu"));
    free(state);
    hydro_sim_close(&sim);
    return 0;
}
"""


def test_c_reads_the_same(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(_PROGRAM)
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", source, "-o", program, "-lm"]
    subprocess.run(command, check=True)
    world = swinging()
    world.step(30)
    runner = FixedRateRunner(world, shared_name=NAME)
    with connect(NAME) as client:
        state = client.newest()
        said = subprocess.run([program, NAME], capture_output=True, text=True, check=True).stdout.splitlines()
    runner.close()
    assert said.pop() == "3"
    told = {name: [float(word) for word in words] for name, *words in map(str.split, said)}
    assert {name: values.tolist() for name, values in state.sensors.items()} == told
