"""A step whose result is not finite pauses the node; it keeps its state, says why, and can be reset."""

import pytest

from support.ros.ros_client import Client, stamp_of

# A free body whose wheel has no limits: any effort is allowed, and this one overflows within a few steps.
WHEEL = """<robot name="wheel">
  <link name="base"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rim"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="axle" type="continuous"><parent link="base"/><child link="rim"/><axis xyz="1 0 0"/></joint>
</robot>
"""
SCENE = """name: wheel
models:
  - {name: wheel, urdf: wheel.urdf, base: floating}
"""


@pytest.fixture
def wheel_node(start_node, tmp_path):
    """The node with nothing but the wheel."""
    (tmp_path / "wheel.urdf").write_text(WHEEL)
    scene = tmp_path / "wheel.yaml"
    scene.write_text(SCENE)
    node = start_node("-p", f"scene:={scene}")
    node.wait_for_output("scene 'wheel'", timeout=300)  # the first start ever compiles
    return node


def test_overflow_pauses_the_node_until_reset(wheel_node):
    """One line in the log, an error in /diagnostics, a finite state, and a life after it."""
    client = Client(wheel_node.domain)
    try:
        client.wait_for_node()
        client.send_array("/forward_effort_controller/commands", [1.7e308])
        wheel_node.wait_for_output("paused: wheel: the state stays at", timeout=30)
        client.wait_until(
            lambda: "overflows" in client.status("timing").message, "the failure in /diagnostics"
        )
        assert client.status("timing").level == b"\x02"
        assert all(abs(position) < 1e300 for position in client.received["/joint_states"][-1].position)
        answer = client.step()
        assert not answer.success
        assert "overflows" in answer.message

        client.call_reset()
        client.pause(False)
        state = client.next("/joint_states")
        client.wait_until(lambda: client.time > stamp_of(state), "time to go on")
        assert client.joint("axle") == 0.0
        assert client.status("timing").level < b"\x02"  # a busy machine may be late
        assert "overflows" not in client.status("timing").message
        assert wheel_node.alive
        assert "Traceback" not in wheel_node.output
    finally:
        client.close()
