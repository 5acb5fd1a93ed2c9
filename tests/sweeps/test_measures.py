"""Measures against closed forms, and against what the world tells in every step."""

import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.sweeps.measures import Gauge, Measure, parse_measure
from hydro_sim_core.sweeps.samples import ERROR, SceneSampler, TaskSampler
from hydro_sim_core.tasks import attempt, registry
from hydro_sim_core.tasks.task import Outcome, Task

HEIGHT, STEP, MASS, G = 0.5, 1e-3, 0.3, 9.81


@pytest.fixture(scope="module")
def falling():
    """A ball above a ground that it does not reach, and one far from it."""
    scene = hs.SceneBuilder("falling", contact={"modulus": 1e6, "friction": 0.5}, time_step=STEP)
    scene.add_ground()
    for name, x in (("ball", 0.0), ("other", 1.0)):
        scene.add_body(name, mass=MASS, xyz=(x, 0.0, HEIGHT)).add_shape("sphere", radius=0.05)
    return scene.build()


class Lowest(Gauge):
    """Least height of a link."""

    def __init__(self, world, link):
        self._link, self._height = link, math.inf

    def observe(self, world):
        self._height = min(self._height, world.frame_pose(self._link)[2, 3])

    def value(self, world):
        return float(self._height)


LOWEST = Measure("lowest", "least height, m", Lowest, "LINK", every_step=True)


def test_a_program_measures_what_it_wants(falling):
    """In another process too."""
    sampler = SceneSampler(falling, 10, ["lowest:ball", "low=lowest:ball<0.1", "z:ball"], own=[LOWEST])
    for one in (sampler, pickle.loads(pickle.dumps(sampler))):
        row = one({})
        assert row["lowest:ball"] == row["z:ball"] < HEIGHT
        assert row["low"] is False
    with pytest.raises(InputError, match=r"'lowest' is none that is known"):
        SceneSampler(falling, 10, ["lowest:ball"])
    with pytest.raises(
        InputError, match=r"measures: 'lowest': another one has this name; give it another name"
    ):
        SceneSampler(falling, 10, [], own=[LOWEST, LOWEST])
    with pytest.raises(InputError, match="is no Measure"):
        SceneSampler(falling, 10, [], own=[Lowest])


class Says(Gauge):
    """Says something at the end."""

    def __init__(self, world, what):
        self._what = what

    def value(self, world):
        return {"text": "far", "list": [1.0], "nothing": None, "truth": np.True_, "single": np.float32(2.5)}[
            self._what
        ]


class Unmade(Gauge):
    """Takes no element."""

    def __init__(self, world):
        pass


class Blind(Gauge):
    """Fails when it looks."""

    def __init__(self, world, link):
        pass

    def observe(self, world):
        raise ZeroDivisionError("by nothing")


def test_measures_that_do_not_work_are_told_in_one_line(falling):
    """In the rows of their samples; what cannot begin before a sweep does."""
    own = [
        Measure("says", "", Says, "WHAT"),
        Measure("blind", "", Blind, "LINK", every_step=True),
        Measure("unmade", "", Unmade, "LINK"),
    ]

    def sampler(what):
        return SceneSampler(falling, 2, [what], own=own)

    assert [sampler(f"says:{what}")({})[f"says:{what}"] for what in ("nothing", "truth", "single")] == [
        None, True, 2.5,
    ]  # fmt: skip
    for what, told in (
        ("says:text", "measures: 'says': 'far' is no number; let value return a number, a truth, or None"),
        ("says:list", "measures: 'says': [1.0] is no number"),
        ("says:key", "measures: 'says': does not work (KeyError: 'key')"),
        ("blind:ball", "measures: 'blind': does not work (ZeroDivisionError: by nothing)"),
    ):
        row = sampler(what)({})
        assert row[what] is None
        assert told in row[ERROR]
    with pytest.raises(InputError, match=r"'unmade': does not work \(TypeError"):
        sampler("unmade:ball").check({})


def test_a_fall_is_what_the_closed_form_says(falling):
    steps = 100
    fallen = G * STEP**2 * steps * (steps + 1) / 2.0  # velocity first, then position with it
    asked = {
        "x:ball": 0.0,
        "z:ball": HEIGHT - fallen,
        "displacement:ball": fallen,
        "displacement:ball/other": 0.0,
        "kinetic_energy": 2 * 0.5 * MASS * (G * STEP * steps) ** 2,
        "z:ball<0.5": True,
        "z:ball > 0.5": False,
        "low=z:ball<0.5 and x:ball<0.1": True,
        "neither=z:ball<0.5 and x:ball>0.1": False,
    }
    row = SceneSampler(falling, steps, list(asked))({})
    assert row.pop(ERROR) is None
    assert list(row) == [text.partition("=")[0] for text in asked]
    for (text, expected), measured in zip(asked.items(), row.values(), strict=True):
        assert type(measured) is type(expected), text
        assert measured == pytest.approx(expected, rel=1e-11, abs=1e-13), text


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, 2.0, math.pi])
def test_a_rotation_is_the_angle_about_any_axis(falling, angle):
    world = hs.World(falling)
    (part,) = parse_measure("rotation:ball").parts
    gauge = part.measure.gauge(world, "ball")
    q = world.q.copy()
    axis = np.array([1.0, -2.0, 2.0]) / 3.0
    q[:4] = [math.cos(angle / 2.0), *(math.sin(angle / 2.0) * axis)]
    world.set_state(q, world.v)
    assert gauge.value(world) == pytest.approx(angle, rel=1e-8, abs=1e-15)


def test_forces_are_those_of_every_step():
    """A box lands: the largest and least force of the steps in which it touched, and what remains at the end."""
    scene = find_scene("drop_box")
    steps = 250
    names = ["max_force", "min_force", "touching", "peak_pressure"]
    row = SceneSampler(scene, steps, [f"{name}:ground/box" for name in names] + ["faces", "energy"])({})
    world, forces = hs.World(scene), []
    for _ in range(steps):
        world.step()
        forces += [float(np.linalg.norm(patch.force_on_b)) for patch in world.contacts]
    forces = [force for force in forces if force]
    assert len(forces) > 10
    assert row["max_force:ground/box"] == pytest.approx(max(forces), rel=1e-12)
    assert row["min_force:ground/box"] == pytest.approx(min(forces), rel=1e-12)
    assert row["touching:ground/box"] is bool(world.contacts and forces)
    assert row["peak_pressure:ground/box"] == max(patch.peak_pressure for patch in world.contacts)
    assert row["faces"] == world.diagnostics()["faces"]
    assert row["energy"] == world.energies().total


def test_what_never_touches_has_no_force(falling):
    asked = [
        "max_force:ball/ground",
        "peak_pressure:ball/ground",
        "touching:ball/ground",
        "max_force:ball/ground<1",
    ]
    row = SceneSampler(falling, 3, asked)({})
    assert list(row.values()) == [None, None, False, False, None]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("zz:ball", "'zz' is none that is known"),
        ("z", "says not of what; write z:LINK"),
        ("energy:ball", "takes no element"),
        ("z:bal", "did you mean 'ball'?"),
        ("z:ball<x", "'x' is no number"),
        ("z:ball<", "'' is no number"),
        ("z:ball<nan", "'nan' is no number"),
        ("z:ball and energy<1", "is a number, neither true nor false"),
        ("displacement:ball/nobody", "'nobody' is no link"),
        ("max_force:ball", "write LINK/LINK"),
        ("max_force:ground/ground", "never touch"),
        ("held:ball", "the scene has no gripper"),
        ("grip_force:hand", "the scene has no gripper"),
    ],
)
def test_what_cannot_be_measured_is_told(falling, text, told):
    with pytest.raises(InputError) as caught:
        SceneSampler(falling, 1, [text]).check({})
    assert told in str(caught.value)


def test_a_run_that_cannot_be_made_has_its_reason_for_a_row(falling):
    sampler = SceneSampler(falling, 1, ["z:ball"])
    row = sampler({"time_step": -1.0})
    assert row["z:ball"] is None
    assert "time_step" in row[ERROR]


def test_what_is_no_trial_is_told():
    with pytest.raises(InputError, match=r"1\.5 is no seed"):
        TaskSampler("pancake_flip", {}).check({"seed": 1.5})
    with pytest.raises(InputError, match="pancake_flop"):
        TaskSampler("pancake_flop", {}).check({})


@pytest.mark.long
def test_a_task_measures_itself():
    sampler = TaskSampler("pancake_flip", {})
    row = sampler({"models.spatula.pose.xyz": [0.48, 1.55, 0.15], "seed": 3})
    assert (row["succeeded"], row["phase"], row[ERROR]) == (False, "take the spatula", None)
    assert "out of reach" in row["reason"]


@pytest.fixture
def lifts(monkeypatch):
    """Samples of a task whose trial ends at once, with measures of one's choice."""

    def sampler(measures):
        class Ends:
            def __init__(self, model, period):
                self.robot = SimpleNamespace(phase="end")

            def script(self, measured):
                yield {}

        outcome = Outcome(True, "", measures)
        task = Task("", "drop_box", 0.01, 1.0, Ends, lambda draws: None, lambda story: outcome)
        monkeypatch.setattr(registry, "load_named", lambda *_: {"lifts": task})
        monkeypatch.setattr(attempt, "AFTERWARDS", 0.01)
        return TaskSampler("lifts", {})

    return sampler


def test_measures_of_a_task_take_no_column_of_the_table(lifts):
    own = [*lifts({"height, m": 1.0})({}).keys() - {"height, m"}, "sample", "seed"]
    for name in (*own, "Time", " "):
        row = lifts({name: 7.0})({"seed": 1})
        assert row["succeeded"] is False
        assert row["reason"].startswith("the judge gives ")
    assert lifts({"height, m": 1.0})({"seed": 1})["height, m"] == 1.0


def test_a_measure_of_a_task_is_a_column_of_its_own(lifts):
    for measures in ({"Time_step": 1.0}, {"a": 1.0, "A": 2.0}):
        row = lifts(measures)({"time_step": 5e-3})
        assert "has the name of another column of the table; mend the task's judge" in row[ERROR]
        assert row["succeeded"] is False
