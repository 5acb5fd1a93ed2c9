"""How the node starts with bad input and how it ends."""

import pytest

SCENE = "config/scenes/spatula_slip.yaml"

BAD_STARTS = {
    "no scene": ([], "scene: is not set"),
    "missing scene": (["-p", "scene:=nowhere.yaml"], "nowhere.yaml"),
    "not a scene": (["-p", "scene:=config/node.yaml"], "unknown key"),
    "unknown parameter": (["-p", f"scene:={SCENE}", "-p", "colour:=3"], "colour: no such parameter"),
    "wrong type": (["-p", "scene:=3"], "scene: 3 is of type integer"),
    "out of range": (
        ["-p", f"scene:={SCENE}", "-p", "joint_state_rate:=5"],
        "joint_state_rate: 5.0 is out of range",
    ),
    "NaN": (["-p", f"scene:={SCENE}", "-p", "duration:=.nan"], "duration: nan is out of range"),
    "unknown choice": (["-p", f"scene:={SCENE}", "-p", "overrun:=hurry"], "overrun: 'hurry' is unknown"),
    "unknown joint": (["-p", f"scene:={SCENE}", "-p", "command_joints:=[elbow]"], "command_joints: 'elbow'"),
    "missing parameter file": (["--params-file", "nowhere.yaml"], "nowhere.yaml"),
}


@pytest.mark.parametrize(("arguments", "expected"), BAD_STARTS.values(), ids=BAD_STARTS)
def test_bad_start_is_one_line_and_status_one(start_node, arguments, expected):
    """One line that names the mistake, exit status 1, no traceback."""
    node = start_node(*arguments)
    assert node.wait(120) == 1
    errors = [line for line in node.output.splitlines() if line.startswith("hydro_sim: error:")]
    assert len(errors) == 1
    assert expected in errors[0]
    assert "Traceback" not in node.output


@pytest.mark.parametrize("factor", [1.0, 0.0])
def test_runs_for_the_duration_and_reports(start_node, factor):
    """It ends by itself after the simulated time asked for, in real time or as fast as possible."""
    node = start_node("-p", f"scene:={SCENE}", "-p", "duration:=2.5", "-p", f"real_time_factor:={factor}")
    assert node.wait(120) == 0
    report = dict(line.strip().split("  ", 1) for line in node.output.splitlines()[-7:])
    assert 2.5 <= float(report["simulated time [s]"]) < 5.0
    assert report["commands refused"].strip() == "0"
    if factor:
        assert "contact faces" in node.output
        assert float(report["real-time factor"]) <= 1.01


def test_interrupt_ends_it_cleanly(start_node):
    """Ctrl-C: status 0, the report, no traceback."""
    node = start_node("-p", f"scene:={SCENE}")
    node.wait_for_output("contact faces", timeout=300)
    assert node.stop() == 0
    assert "simulated time [s]" in node.output
    assert "Traceback" not in node.output
