"""The services that every installation has: pausing and stepping are tested with the node, resets and entities here."""

from __future__ import annotations

import json
import math

import pytest
from std_srvs.srv import Trigger

from support.ros.ros_client import Client


@pytest.fixture
def paused(client: Client):
    """The simulation, paused somewhere on its way."""
    client.wait_for_time(0.1)
    client.pause(True)
    yield client
    client.pause(False)


def call(client: Client, name: str):
    """Answer of a service without arguments."""
    return client.call(Trigger, f"/hydro_sim/{name}", Trigger.Request())


def test_entities_are_told_as_json(paused):
    """Every model, with unit quaternions and bounds; at rest or nearly so."""
    answer = call(paused, "entities")
    assert answer.success
    entities = json.loads(answer.message)
    assert list(entities) == ["stand", "arm", "spatula"]
    assert entities["stand"]["static"]
    assert not entities["arm"]["static"]
    assert not entities["arm"]["floating"]
    spatula = entities["spatula"]
    assert spatula["floating"]
    assert not spatula["kinematic"]
    assert not spatula["spawned"]
    assert spatula["position"] == pytest.approx([0.35, 0.0, 0.25], abs=0.02)
    assert math.hypot(*spatula["orientation"]) == pytest.approx(1.0)
    assert math.hypot(*spatula["linear"]) < 0.1
    lower, upper = spatula["bounds"]
    assert all(a < b for a, b in zip(lower, upper, strict=True))


def test_reset_of_the_state_keeps_the_time(paused):
    """Poses go back to the start, the clock does not."""
    before = paused.time
    answer = call(paused, "reset_state")
    assert answer.success, answer.message
    spatula = json.loads(call(paused, "entities").message)["spatula"]
    assert spatula["position"] == pytest.approx([0.35, 0.0, 0.25], abs=1e-12)
    assert spatula["linear"] == [0.0, 0.0, 0.0]
    step = paused.step()
    assert float(step.message.split()[1]) > before


def test_reset_goes_back_in_time(paused):
    paused.call_reset()
    assert float(paused.step().message.split()[1]) == pytest.approx(0.001)
