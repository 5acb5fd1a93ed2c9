"""``/diagnostics`` on contact: its worst patch in numbers, and a warning where the force should not be trusted."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus

import hydro_sim_core as hs
from hydro_sim.diagnostics import Diagnostics
from hydro_sim.parameters import Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core import contact, geometry
from hydro_sim_core.simulation.running.timing import PaceRecorder
from hydro_sim_core.simulation.world.contact_summary import ContactSummary

#: Of a scene without pairs.
NO_LAWS = SimpleNamespace(counts={"pressure field": 0, "rigid skin": 0, "equivalent point": 0}, silent=())


@pytest.fixture
def status():
    """The status on contact that the node publishes for a summary."""

    def publish(summary, *bad_steps, laws=NO_LAWS, part="contact"):
        """The last of several messages, before which there had been so many deep and so many faceless steps."""
        sent, timers = [], []
        counts = {"deep_steps": 0, "faceless_steps": 0}
        node = SimpleNamespace(
            create_publisher=lambda *_: SimpleNamespace(publish=sent.append),
            create_timer=lambda period, callback, clock: timers.append(callback),
            get_name=lambda: "node",
            get_namespace=lambda: "/",
            get_fully_qualified_name=lambda: "/node",
            get_node_names_and_namespaces=lambda: [("node", "/")],
            count_publishers=lambda topic: 1,
        )
        runner = SimpleNamespace(
            report=lambda: PaceRecorder(1e-3).report(),
            snapshot=lambda: SimpleNamespace(
                contact_summary=summary, diagnostics=counts, contact_laws=laws, grip_forces_on={}
            ),
            failure=None,
            paused=True,
            steps_in_loop=0,
            states_lost=0,
        )
        link = SimpleNamespace(reports=dict, unheard_publishers=list)
        priority = SimpleNamespace(scheduling="", refused=[])
        Diagnostics(node, runner, Parameters(), Rejections(None), link, {}, priority)
        for counts["deep_steps"], counts["faceless_steps"] in bad_steps or [(0, 0)]:
            timers[0]()
        (found,) = [s for s in sent[-1].status if s.name == f"node: {part}"]
        return found

    return publish


def _patch(resolution, name="ball"):
    X_WA = np.eye(4)
    X_WA[2, 3] = 0.09
    ball = geometry.sphere(0.1, resolution=resolution, modulus=1e5)
    patch = contact.compute_patch(ball, X_WA, geometry.half_space(), np.eye(4))
    return replace(patch, name_a=name, name_b="ground")


def _values(status):
    return {pair.key: pair.value for pair in status.values}


def test_worst_patch_is_shown_in_numbers(status):
    fine, coarse = _patch(0.01), _patch(0.04, "peg")
    shown = status(ContactSummary((fine, coarse)))
    quality = coarse.quality
    error = 100.0 * quality.force_error
    assert shown.level == DiagnosticStatus.WARN
    assert shown.message == (
        f"peg on ground: {quality.num_faces} faces, force at this depth off by about {error:.0f} %; "
        "mesh them finer (mesh_resolution_hint)"
    )
    assert _values(shown) == {
        "patches": "2",
        "worst patch": "peg on ground",
        "faces of the worst patch": str(coarse.num_faces),
        "size of a face over the worst patch": f"{quality.face_size_ratio:.6g}",
        "estimated force error of the worst patch [%]": f"{error:.6g}",
        "under-resolved patches": "1",
        "patches past a medial surface": "0",
        "overlaps without contact": "0",
        "deep steps": "0",
        "steps with overlaps without contact": "0",
    }


def test_resolved_contact_is_ok(status):
    shown = status(ContactSummary((_patch(0.01),)))
    assert (shown.level, shown.message) == (DiagnosticStatus.OK, "resolved")
    assert float(_values(shown)["estimated force error of the worst patch [%]"]) < 10.0


def test_no_contact_is_ok(status):
    shown = status(ContactSummary(()))
    assert (shown.level, shown.message) == (DiagnosticStatus.OK, "no contact")
    assert _values(shown)["patches"] == "0"


def test_every_kind_of_warning_is_counted(status):
    """The gravest is the message; the number of others follows."""
    deep = replace(_patch(0.01, "sheet"), dropped_force=1e3)
    shown = status(ContactSummary((deep, _patch(0.04)), faceless_overlaps=(("peg", "hole"),)))
    assert shown.level == DiagnosticStatus.WARN
    assert shown.message.startswith("peg on hole: they overlap, but no contact holds them apart")
    assert shown.message.endswith("(and 2 more)")
    values = _values(shown)
    counts = ("under-resolved patches", "patches past a medial surface", "overlaps without contact")
    assert [values[key] for key in counts] == ["1", "1", "1"]


def test_a_step_that_did_not_converge_at_a_point_names_the_pair(status):
    shown = status(ContactSummary((), unrepeated=(("peg", "hole", "a gap is left where they press"),)))
    assert shown.level == DiagnosticStatus.WARN
    assert shown.message == (
        "peg on hole: the step did not converge at their equivalent point: a gap is left where they press; "
        "make the time step shorter"
    )


def test_contact_lost_since_the_last_message_is_told(status):
    """Though all is well again when the message is made; a reset sets the counts back."""
    sound = ContactSummary((_patch(0.01),))
    shown = status(sound, (1, 1), (3, 2))
    assert (shown.level, shown.message) == (
        DiagnosticStatus.WARN,
        "contact was lost in 3 steps of the last second",
    )
    assert _values(shown)["deep steps"] == "3"
    assert status(sound, (1, 1), (1, 1)).level == DiagnosticStatus.OK
    assert status(sound, (1, 1), (0, 0)).level == DiagnosticStatus.OK


def test_laws_of_pairs_are_counted_and_silent_ones_named(status):
    """Of a rigid box on a soft pad and a rigid table, of a lamp that stands at a point, and of silenced links."""
    scene = hs.SceneBuilder("laws")
    scene.add_static("table", "box", size=(1, 1, 0.1), compliance="rigid")
    for name, z in (("box", 1.0), ("lamp", 2.0)):
        scene.add_body(name, 1.0, xyz=(0, 0, z)).add_shape("box", size=3 * (0.1,), compliance="rigid")
    scene.add_body("pad", 1.0, xyz=(0, 0, 3.0)).add_shape("box", size=3 * (0.1,), modulus=1e5)
    built = scene.set_contact_law("lamp", "table", "equivalent_point").build()
    contact = built.spec.contact.model_copy(update={"exclude": (("box", "lamp"), ("pad", "lamp"))})
    built = replace(built, spec=built.spec.model_copy(update={"contact": contact}))
    laws = hs.World(built).contact_laws
    shown = status(ContactSummary(()), laws=laws, part="contact laws")
    assert (shown.level, shown.message) == (
        DiagnosticStatus.OK,
        "2 pressure field, 1 rigid skin, 1 equivalent point, 2 silent",
    )
    assert _values(shown) == {
        "pairs with pressure field": "2",
        "pairs with rigid skin": "1",
        "pairs with equivalent point": "1",
        "pairs with soft minimum": "0",
        "silent pairs": "2",
        "names of silent pairs": "box and lamp, pad and lamp",
    }


def test_what_is_told_of_laws_is_short(status):
    """Also of a thousand silent pairs with long names."""
    silent = tuple((f"{i}" + "a" * 4000, "b" * 4000) for i in range(1000))
    laws = SimpleNamespace(counts=NO_LAWS.counts, silent=silent)
    shown = status(ContactSummary(()), laws=laws, part="contact laws")
    assert shown.message == "1000 silent"
    names = _values(shown)["names of silent pairs"]
    assert names.endswith(" and 990 more")
    assert len(names) < 5000
    assert status(ContactSummary(()), part="contact laws").message == "no pairs"
