"""The page of topics, beside what a running node says that it publishes."""

from __future__ import annotations

import re
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import rclpy
import yaml

from hydro_sim_core.description.sensor_types import sensor_types
from support.ros.node_process import ROOT, SCENE

PAGE = ROOT / "docs" / "ros_topics.md"
#: Of every lifecycle node, whatever it is for; hidden ones are those of actions.
EVERYWHERE = {"/parameter_events", "/rosout", "/hydro_sim/transition_event"}
DURABILITY = {"VOLATILE": "", "TRANSIENT_LOCAL": "transient local"}


def told() -> dict[str, tuple[str, int, str]]:
    """Type, depth and durability of every topic of the page, as far as the packages of its types are installed."""
    rows = re.findall(r"^\| (`[^|]+`) \| (\w+)/(\w+)[^|]*\| ([^|]+)\|", PAGE.read_text(), re.MULTILINE)
    found = {}
    for topics, package, message, kept in rows:
        depth, _, durability = kept.strip().partition(", ")
        if find_spec(package) is None:
            continue
        for topic in re.findall("`(.+?)`", topics):
            name = topic.replace("~", "/hydro_sim") if topic[0] in "~/" else f"/{topic}"
            found[name] = (f"{package}/msg/{message}", int(depth), durability)
    return found


def as_on_the_page(topic: str) -> str:
    """A topic of one pair of bodies, of one bubble or of one sensor, with the letters of the page."""
    topic = re.sub(r"^(/hydro_sim/(?:contact_)?wrench)/\w+_on_\w+$", r"\1/A_on_B", topic)
    topic = re.sub(r"^/gripper_[a-z_]+/", "/SENSOR/", topic)
    return re.sub(r"^/bubble_\d+/", "/bubble_N/", topic)


def with_a_sensor(folder: Path) -> Path:
    """The shipped scene, and one of each of the table's sensors on its gripper."""
    scene = yaml.safe_load(SCENE.read_text())
    for model in scene["models"]:
        model["urdf"] = str((SCENE.parent / model["urdf"]).resolve())
    scene["sensors"] = [
        {"type": name, "name": f"gripper_{name}", "link": "gripper"} for name in sensor_types()
    ]
    path = folder / "scene.yaml"
    path.write_text(yaml.safe_dump(scene))
    return path


@pytest.fixture
def published(start_node, tmp_path):
    """Type, depth and durability of all that a node with bubbles and sensors publishes."""
    scene = with_a_sensor(tmp_path)
    process = start_node(
        "-p", f"scene:={scene}", "-p", "bubbles:=[left_finger]", "-p", "bubble_cameras:=[left_bubble_camera]"
    )
    context = rclpy.Context()
    context.init(domain_id=process.domain)
    node = rclpy.create_node("reader", context=context)

    def look() -> dict[str, tuple[str, int, str]]:
        found = {}
        for topic, _ in node.get_topic_names_and_types():
            for end in node.get_publishers_info_by_topic(topic):
                if end.node_name == "hydro_sim" and topic not in EVERYWHERE and "/_action/" not in topic:
                    qos = end.qos_profile
                    found[as_on_the_page(topic)] = (
                        end.topic_type,
                        qos.depth,
                        DURABILITY[qos.durability.name],
                    )
        return found

    # The node makes its publishers one after the other, so the last one is seen last, and then none comes for a while.
    process.wait_for_output("scene 'spatula_slip'", timeout=300)
    seen, since = look(), time.monotonic()
    while time.monotonic() < since + 1.0 or not seen:
        assert process.alive, process.output
        time.sleep(0.1)
        now = look()
        if now != seen:
            seen, since = now, time.monotonic()
    yield seen
    node.destroy_node()
    context.shutdown()


def test_the_page_tells_of_every_topic_and_of_no_other(published):
    page = told()
    assert set(page) == set(published)
    assert {name: entry[0] for name, entry in page.items()} == {
        name: entry[0] for name, entry in published.items()
    }
    for name, (_, depth, durability) in page.items():
        assert published[name][2] == durability, name
        # Depths do not go over the wire with every middleware, which then says 0.
        assert published[name][1] in (0, depth), name
