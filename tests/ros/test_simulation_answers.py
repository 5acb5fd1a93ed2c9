"""Requests to a simulation are answered, whatever happens, and messages mean what other simulators mean by them."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from std_srvs.srv import Trigger

from hydro_sim import optional
from hydro_sim.parameters import Parameters
from hydro_sim.simulation_control.conversions import has_tags, resource_of, volume
from hydro_sim.simulation_control.refusals import Reason, Refused
from hydro_sim.simulation_control.services import ClientServices
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World


@pytest.fixture
def answer_to(simulation, monkeypatch):
    """Answers of the services to a request, without a middleware; and what was logged as an error."""
    handlers, errors = {}, []
    node = SimpleNamespace(
        create_service=lambda _, name, handler, **__: handlers.__setitem__(name, handler),
        get_logger=lambda: SimpleNamespace(error=errors.append),
    )
    for packages in ("hydro_sim_srvs", "simulation_interfaces"):
        monkeypatch.setattr(optional, packages, None)
    ClientServices(node, simulation.control, Parameters(), SimpleNamespace(group=None))

    def call(name):
        coroutine = handlers[name](Trigger.Request(), Trigger.Response())
        with pytest.raises(StopIteration) as end:
            coroutine.send(None)
        return end.value.value, errors

    return call


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [
        (Refused(Reason.NOT_FOUND, "there is none"), False),
        (InputError("scene", "arm", "is unknown", "correct it"), False),
        (FloatingPointError("no finite result"), False),
        (KeyError("finger_joint"), True),
    ],
)
def test_every_request_is_answered(simulation, answer_to, monkeypatch, error, is_fault):
    """With the reason; a fault of ours is told in the log too."""

    async def fail():
        raise error

    monkeypatch.setattr(simulation.control, "reset_all", fail)
    answer, errors = answer_to("~/reset")
    assert not answer.success
    assert str(error) in answer.message
    assert len(errors) == is_fault


def test_a_reset_that_kills_the_stepping_thread_is_answered(simulation, answer_to, monkeypatch):
    def fail(*_, **__):
        raise KeyError("finger_joint")

    monkeypatch.setattr(World, "reset", fail)
    answer, errors = answer_to("~/reset")
    assert not answer.success
    assert "finger_joint" in errors[0]
    assert isinstance(simulation.host.runner.error, KeyError)


def bounds(kind, *points):
    """Stands in for a ``Bounds`` message."""
    corners = [SimpleNamespace(x=x, y=y, z=z) for x, y, z in points]
    types = {"TYPE_EMPTY": 0, "TYPE_BOX": 1, "TYPE_CONVEX_HULL": 2, "TYPE_SPHERE": 3}
    return SimpleNamespace(type=kind, points=corners, **types)


def test_volumes_of_messages():
    """The upper corner of a box comes first; what encloses nothing is refused."""
    assert volume(bounds(0)) is None
    box = volume(bounds(1, (1, 2, 3), (0, 0, 0)))
    assert (box.lower.tolist(), box.upper.tolist()) == ([0, 0, 0], [1, 2, 3])
    ball = volume(bounds(3, (1, 2, 3), (4, 0, 0)))
    assert (ball.centre.tolist(), ball.radius) == ([1, 2, 3], 4.0)
    assert len(volume(bounds(2, (1, 0, 0), (0, 1, 0), (0, 0, 1))).points) == 3
    for bad in (
        bounds(1, (0, 0, 0), (1, 2, 3)),
        bounds(1, (0, 0, 0)),
        bounds(2, (0, 0, 0)),
        bounds(3, (0, 0, 0), (-1, 0, 0)),
        bounds(3, (math.nan, 0, 0), (1, 0, 0)),
        bounds(7),
    ):
        with pytest.raises(Refused):
            volume(bad)


@pytest.mark.parametrize(
    ("mode", "wanted", "passes"),
    [(0, [], True), (0, ["a", "x"], True), (0, ["x"], False), (1, ["a", "b"], True), (1, ["a", "x"], False)],
)
def test_tags_of_messages(mode, wanted, passes):
    """Any of them, or all."""
    wanted = SimpleNamespace(tags=wanted, filter_mode=mode, FILTER_MODE_ANY=0, FILTER_MODE_ALL=1)
    assert has_tags(["a", "b"], wanted) == passes


def test_resources_of_any_release():
    """Older releases have the uri in the message itself, or the world's under another name."""
    flat = SimpleNamespace(uri="a")
    assert resource_of(flat) is flat
    for name in ("entity_resource", "world_resource", "level_resource"):
        assert resource_of(SimpleNamespace(**{name: flat})) is flat
