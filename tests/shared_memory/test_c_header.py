"""The C headers: what is committed is what the layout says, both languages compile it, and read what Python wrote."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.shared_memory import layout
from hydro_sim_core.shared_memory.c_header import FILE, INCLUDE, constant, header_text, sections
from hydro_sim_core.shared_memory.layout import Header
from hydro_sim_core.shared_memory.segment import Segment
from support.shared_memory.stand_in import StandIn, tables

_WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O2")
_COMPILERS = {"c": ("gcc", "-std=c11"), "cpp": ("g++", "-std=c++17")}

_PROGRAM = r"""
#include <hydro_sim.h>
#include <stdio.h>

static void command(hydro_sim_controller *controller) {
    if (!hydro_sim_command(controller, 0, HYDRO_SIM_MODE_EFFORT | HYDRO_SIM_MODE_GAINS, 1, 2, 3, 4, 5, 6))
        hydro_sim_send(controller);
}

int main(int argc, char **argv) {
    hydro_sim sim;
    hydro_sim_controller controller;
    int64_t row;
    const int result = hydro_sim_open(&sim, argv[argc - 1]);
    if (result) {
        char text[512];
        puts(hydro_sim_explain(&sim, result, text, sizeof text));
        return 1;
    }
    printf("%.17g %d\n", hydro_sim_time_step(&sim), (int)hydro_sim_find_joint(&sim, "slider"));
    printf("%d\n", (int)hydro_sim_find_joint(&sim, "slide"));
    if (hydro_sim_take(&sim, &controller, "c", 2, 0)) return 2;
    printf("%d %.17g\n", (int)controller.state[HYDRO_SIM_SLOT_SERIAL], hydro_sim_time(controller.state));
    for (row = 0; row < hydro_sim_num_joints(&sim); ++row)
        printf("%s %.17g %.17g %.17g %.17g\n", (const char *)hydro_sim_joint(&sim, row),
               hydro_sim_real(hydro_sim_joint(&sim, row) + HYDRO_SIM_JOINT_UPPER),
               hydro_sim_position(&sim, controller.state, row), hydro_sim_velocity(&sim, controller.state, row),
               hydro_sim_effort(&sim, controller.state, row));
    printf("%d\n", hydro_sim_copy(&sim, controller.state[HYDRO_SIM_SLOT_SERIAL] + 1, controller.state));
    command(&controller);
    return 0; /* as one that is killed: its last set stays */
}
"""


def test_the_committed_header_is_what_the_layout_says() -> None:
    assert FILE.read_text() == header_text(), "python -m hydro_sim_core.shared_memory.c_header writes it anew"


def _compiled(folder: Path, text: str, suffix: str) -> Path:
    compiler, standard = _COMPILERS[suffix]
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    source, program = folder / f"program.{suffix}", folder / "program"
    source.write_text(text)
    command = [compiler, standard, *_WARNINGS, f"-I{INCLUDE}", str(source), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def test_all_constants_have_their_values(tmp_path) -> None:
    wanted = {
        constant(section, name): word.value for section in sections() for name, word in _members(section)
    }
    assert len(wanted) == sum(len(section.__members__) for section in sections())
    wanted |= {
        "HYDRO_SIM_MAGIC": layout.MAGIC,
        "HYDRO_SIM_MAJOR": layout.MAJOR,
        "HYDRO_SIM_MINOR": layout.MINOR,
        "HYDRO_SIM_NAME_WORDS": layout.NAME_WORDS,
        "HYDRO_SIM_NUM_BINS": layout.NUM_BINS,
    }
    lines = "\n".join(f'    printf("{name} %lld\\n", (long long){name});' for name in wanted)
    program = _compiled(
        tmp_path, f"#include <hydro_sim.h>\nint main(void) {{\n{lines}\n    return 0;\n}}\n", "c"
    )
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert dict(zip(said[::2], map(int, said[1::2]), strict=True)) == wanted


def _members(section):
    return section.__members__.items()


@pytest.mark.parametrize("suffix", list(_COMPILERS))
def test_a_program_reads_and_commands_what_python_does(tmp_path, suffix: str) -> None:
    program = _compiled(tmp_path, _PROGRAM, suffix)
    segment = Segment.make(f"test_c_{os.getpid()}", tables(), slots=4)
    loop = StandIn(segment, 0.0)
    loop.q, loop.v = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 2.0, 3.0, 4.0])
    for _ in range(6):
        loop._turn()
    done = subprocess.run([program, segment.name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    first, none, state, *joints, later = done.stdout.splitlines()
    assert (first, none, later) == ("0.001 2", "-1", "0")
    assert [float(word) for word in state.split()] == [6.0, loop.time]
    for line, joint, q, v in zip(joints, tables().joints, loop.q, loop.v, strict=True):
        name, *numbers = line.split()
        assert name == joint.name
        upper = joint.upper if math.isfinite(joint.upper) else math.inf
        assert [float(number) for number in numbers] == [upper, q, v, 0.0]
    loop._turn()
    words = segment.memory.words
    at = words[Header.AT_CHANNELS] + 2 * words[Header.CHANNEL_WORDS]
    assert words[at + layout.Channel.SEQUENCE] == 2  # the empty set, and the one sent
    assert segment.memory.text(at + layout.Channel.CLIENT_NAME, 4) == "c"
    reals = loop.commands[0]
    assert reals[[1, 2, 3, 4, 5, 7]].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert reals.view("q")[0] == layout.Mode.EFFORT | layout.Mode.GAINS
    segment.retire()


_STEPS = r"""
#include <hydro_sim.h>

int main(int argc, char **argv) {
    hydro_sim sim;
    int64_t before, i;
    if (hydro_sim_open(&sim, argv[argc - 1])) return 1;
    hydro_sim_pause(&sim);
    if (hydro_sim_take_steps(&sim, 1, 60.0)) return 2;
    for (i = 1; i < 10; ++i) {
        before = hydro_sim_head(&sim);
        if (hydro_sim_take_steps(&sim, i, 60.0)) return 3;
        if (hydro_sim_head(&sim) != before + i) return 4;
    }
    if (hydro_sim_take_steps(&sim, 0, 1.0) != HYDRO_SIM_OUT_OF_RANGE) return 5;
    if (hydro_sim_take_steps(&sim, (1 << 30) + 1, 1.0) != HYDRO_SIM_OUT_OF_RANGE) return 6;
    if (hydro_sim_take_steps(&sim, 1 << 30, 0.05) != HYDRO_SIM_TOO_LATE) return 7;
    before = hydro_sim_head(&sim);
    if (hydro_sim_take_steps(&sim, 2, 60.0)) return 8; /* those before are dropped */
    if (hydro_sim_head(&sim) > before + 1000000) return 9;
    return 0;
}
"""


def test_steps_of_a_pause_from_c(tmp_path, client, running) -> None:
    """Whoever waits for them finds the state that they led to."""
    done = subprocess.run([_compiled(tmp_path, _STEPS, "c"), running.name], check=False)
    assert done.returncode == 0
    client.set_pace(1.0)
    client.resume()


@pytest.mark.parametrize(
    ("word", "value", "said"),
    [
        (None, 0, r"nobody: no simulation of this name runs; these run: .*\b{running}\b.*"),
        (
            Header.VERSION,
            3 << 32 | 4,
            r"/dev/shm/hydro_sim.{name}: the layout is 3\.4, and this header knows 1\.2; "
            "use simulator and header of one release",
        ),
        (Header.MAGIC, 0, "/dev/shm/hydro_sim.{name}: is no segment of hydro-sim; remove it"),
    ],
)
def test_what_cannot_be_opened(tmp_path, running, word: Header | None, value: int, said: str) -> None:
    program = _compiled(tmp_path, _PROGRAM, "c")
    segment = Segment.make(f"test_c_{os.getpid()}", tables(), slots=4)
    if word is not None:
        segment.memory.words[word] = value
    name = segment.name if word is not None else "nobody"
    done = subprocess.run([program, name], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(said.format(name=name, running=running.name), done.stdout.strip())
    segment.retire()


#: Says what becomes of one thing after the other, in lines.
_FAULTS = r"""
#include <hydro_sim.h>
#include <math.h>

static void say(const hydro_sim *sim, int result) {
    char text[512];
    printf("%d %s\n", result, hydro_sim_explain(sim, result, text, sizeof text));
    fflush(stdout);
}

int main(int argc, char **argv) {
    const int64_t effort = HYDRO_SIM_MODE_EFFORT, velocity = HYDRO_SIM_MODE_VELOCITY;
    hydro_sim sim;
    hydro_sim_controller arm, other;
    char few[8];
    if (argc < 2 || hydro_sim_open(&sim, argv[1]) || hydro_sim_take(&sim, &arm, "arm of c", 0, 1)) return 1;
    say(&sim, hydro_sim_take(&sim, &other, "other", 0, 0));
    say(&sim, hydro_sim_take(&sim, &other, "other", 4, 0));
    hydro_sim_leave(&other);
    say(&sim, hydro_sim_command(&other, 0, effort, 0, 0, 1, 0, 0, 0));
    say(&sim, hydro_sim_step(&other, 1, 1));
    say(&sim, hydro_sim_send(&other));
    say(&sim, hydro_sim_take(&sim, &other, "other", -2, 0));
    say(&sim, hydro_sim_wait(&sim, -1, arm.state, 1));
    say(&sim, hydro_sim_wait(&sim, INT64_MAX, arm.state, 1));
    say(&sim, hydro_sim_wait(&sim, arm.state[HYDRO_SIM_SLOT_SERIAL] + 9, arm.state, NAN) == HYDRO_SIM_TOO_LATE);
    say(&sim, hydro_sim_command(&arm, 0, effort, 0, 0, 1, 0, 0, INFINITY));
    say(&sim, hydro_sim_take_steps(&sim, 1, 1));
    say(&sim, hydro_sim_command(&arm, -1, effort, 0, 0, 1, 0, 0, 0));
    say(&sim, hydro_sim_command(&arm, 4, effort, 0, 0, 1, 0, 0, 0));
    say(&sim, hydro_sim_command(&arm, 0, effort, 0, 0, NAN, 0, 0, 0));
    say(&sim, hydro_sim_command(&arm, 0, effort, INFINITY, 0, 1, 0, 0, 0));
    say(&sim, hydro_sim_command(&arm, 0, effort, 0, 0, 1, 0, 0, -1));
    say(&sim, hydro_sim_command(&arm, 0, effort | HYDRO_SIM_MODE_GAINS, 0, 0, 1, -1, 0, 0));
    say(&sim, hydro_sim_command(&arm, 0, HYDRO_SIM_MODE_FLOATS, 0, 0, 1, 0, 0, 0));
    say(&sim, hydro_sim_command(&arm, 3, velocity, 0, 1, 0, 0, 0, 0));
    say(&sim, hydro_sim_step(&arm, 0, 1));
    say(&sim, hydro_sim_step(&arm, INT64_C(1) << 40, 1));
    say(&sim, hydro_sim_step(&arm, 1, 60));
    say(&sim, hydro_sim_wait(&sim, arm.state[HYDRO_SIM_SLOT_SERIAL] + 1, arm.state, 0.3));
    hydro_sim_pause(&sim);
    say(&sim, hydro_sim_step(&arm, 1, 0.3));
    hydro_sim_resume(&sim);
    say(&sim, hydro_sim_step(&arm, 1, 60));
    printf("%s\n", hydro_sim_explain(&sim, HYDRO_SIM_TAKEN, few, sizeof few));
    puts("stop me");
    fflush(stdout);
    if (getchar() == EOF) return 2;
    say(&sim, hydro_sim_step(&arm, 1, 1.2));
    if (getchar() == EOF) return 3;
    say(&sim, hydro_sim_step(&arm, 1, 3600));
    return 0;
}
"""


def test_c_tells_what_python_tells(tmp_path, start) -> None:
    """Every line names what it is about; the simulation is stopped and killed in the end."""
    running = start()
    program = _compiled(tmp_path, _FAULTS, "c")
    with subprocess.Popen(
        [program, running.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told: list[str] = []
        while not told or told[-1] != "stop me":
            told.append(process.stdout.readline().strip())
        os.kill(running.process.pid, signal.SIGSTOP)
        process.stdin.write("\n")
        process.stdin.flush()
        told.append(process.stdout.readline().strip())
        os.kill(running.process.pid, signal.SIGKILL)
        process.stdin.write("\n")
        process.stdin.flush()
        told.append(process.stdout.readline().strip())
        assert process.wait(60.0) == 0
    owner, me = running.process.pid, process.pid
    did_not = f"{running.name}: what was waited for did not come"
    range_, finite, interface = (hydro_sim_text(result) for result in (-10, -11, -12))
    assert told == [
        f"-5 channels are taken: 0 by arm of c (process {me}); end one of them",
        f"-10 {range_}",
        *[f"-14 {hydro_sim_text(-14)}"] * 3,
        *[f"-10 {range_}"] * 3,
        "1 unknown result",
        f"-11 {finite}",
        f"-15 {hydro_sim_text(-15)}",
        *[f"-10 {range_}"] * 2,
        *[f"-11 {finite}"] * 4,
        *[f"-12 {interface}"] * 2,
        *[f"-10 {range_}"] * 2,
        "0 done",
        f"-7 {did_not}; the simulation waits for arm of c (process {me}): see what it does",
        f"-7 {did_not}; the simulation is paused: let it run on, or ask it for steps",
        "0 done",
        "channel",
        "stop me",
        told[-2],
        f"-6 {running.name}: its process ({owner}) has been killed; start it again, and open it anew",
    ]
    silent = rf"-7 {did_not}; the loop has given no sign of life for \d\.\d s: see whether process {owner} is stopped"
    assert re.fullmatch(silent, told[-2])


def hydro_sim_text(result: int) -> str:
    """What the header says that a result means."""
    text = (INCLUDE / "hydro_sim.h").read_text()
    (name,) = re.findall(rf"(HYDRO_SIM_\w+) = {result}\b", text)
    messages = (INCLUDE / "hydro_sim_messages.h").read_text()
    (meaning,) = re.findall(rf'case {name}:\s+return "(.*)";', messages)
    return meaning
