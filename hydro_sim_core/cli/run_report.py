"""Report of a run: statistics collected after every step."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.table import Table

from hydro_sim_core.cli.output import shown, versions
from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.contact.laws import EQUIVALENT_POINT, PRESSURE_FIELD
from hydro_sim_core.drawing.pressure_scale import in_unit, unit_of
from hydro_sim_core.recording import RecordingReport
from hydro_sim_core.simulation import Distribution, World

#: Simulated time between rows of the time series, s.
_SAMPLE_PERIOD = 0.01
#: Largest number of rows; beyond it every second row is dropped and the rate is halved.
_MAX_ROWS = 2000


@dataclass(frozen=True)
class Pace:
    """Timing of a run; times in s. Where a page has loaded other scenes, that of the last but for the largest values.

    Attributes:
        wall_time: Wall-clock time spent stepping.
        step_time: Wall-clock time per step.
        late_steps: Steps that ended after their deadline; None without deadlines.
        skipped_steps: Skipped periods; None without deadlines.
        times_given_up: How often periods were skipped; None without deadlines.
        late_max: Largest lateness; None without deadlines.
        error: Why the run ended early; None if it did not.
    """

    wall_time: float
    step_time: Distribution
    late_steps: int | None = None
    skipped_steps: int | None = None
    times_given_up: int | None = None
    late_max: float | None = None
    error: str | None = None


class RunRecorder:
    """Collector of a run's statistics; call ``observe`` after every step.

    Attributes:
        steps: Steps observed.
    """

    def __init__(self, world: World) -> None:
        self.begin(world)

    def begin(self, world: World) -> None:
        """Forget everything before, for a run of this world."""
        self.steps = 0
        self._max_faces = 0
        self._max_residual = 0.0
        self._max_iterations = 0
        self._every = max(1, round(_SAMPLE_PERIOD / world.time_step))
        self._times: list[float] = []
        self._faces: list[int] = []
        self._grip_forces: dict[str, list[float]] = {name: [] for name in world.gripper_names}
        self._unrepeated: Counter[str] = Counter()

    def observe(self, world: World) -> None:
        """Add the step that the world has just made."""
        self.steps += 1
        done = world.diagnostics()
        self._max_faces = max(self._max_faces, int(done["faces"]))
        self._max_residual = max(self._max_residual, float(done["residual"]))
        self._max_iterations = max(self._max_iterations, int(done["iterations"]))
        if not done["converged"]:
            self._unrepeated.update(
                f"{a} on {b}: {what}" for a, b, what in world.contact_summary().unrepeated
            )
        if self.steps % self._every == 0:
            self._sample(world, int(done["faces"]))

    def _sample(self, world: World, faces: int) -> None:
        self._times.append(world.time)
        self._faces.append(faces)
        for name, forces in self._grip_forces.items():
            forces.append(world.grip_force(name))
        if len(self._times) > _MAX_ROWS:
            self._every *= 2
            # Keep the rows of the lower rate.
            self._times, self._faces = self._times[1::2], self._faces[1::2]
            self._grip_forces = {name: forces[1::2] for name, forces in self._grip_forces.items()}

    def report(
        self, world: World, pace: Pace, interrupted: bool, recording: RecordingReport | None = None
    ) -> RunReport:
        """Report of the steps observed so far."""
        simulated = self.steps * world.time_step
        summary = world.contact_summary()
        return RunReport(
            scene=world.name,
            source=str(world.scene.source),
            time_step=world.time_step,
            steps=self.steps,
            simulated_time=simulated,
            real_time_factor=simulated / pace.wall_time if pace.wall_time > 0.0 else 0.0,
            pace=pace,
            interrupted=interrupted,
            max_faces=self._max_faces,
            max_iterations=self._max_iterations,
            max_residual=self._max_residual,
            unconverged_steps=int(world.diagnostics()["unconverged_steps"]),
            unrepeated=dict(self._unrepeated),
            unsettled_steps=int(world.diagnostics()["unsettled_steps"]),
            stepping=world.step_statistics(),
            deep_steps=int(world.diagnostics()["deep_steps"]),
            faceless_steps=int(world.diagnostics()["faceless_steps"]),
            grip_forces={name: world.grip_force(name) for name in world.gripper_names},
            grip_units=world.grip_units,
            grip_forces_on={name: world.grip_forces_on(name) for name in world.gripper_names},
            contacts=[_contact(patch) for patch in summary.patches],
            contact_warnings=[str(warning) for warning in summary.warnings],
            series={"time": self._times, "faces": self._faces, "grip_force": self._grip_forces},
            recording=recording,
        )


def _contact(patch: ContactPatch) -> dict[str, Any]:
    return {
        "body_a": patch.name_a,
        "body_b": patch.name_b,
        "law": patch.law,
        "faces": patch.num_faces,
        "area": patch.area,
        "peak_pressure": patch.peak_pressure,
        "centroid": patch.centroid.tolist(),
        "force_on_b": patch.force_on_b.tolist(),
        "normal_force": float(sum(patch.normal_force_on_b**2) ** 0.5),
        "quality": asdict(patch.quality),
    }


def _extent(contact: dict[str, Any]) -> str:
    """Area and pressure of a contact in words; an equivalent point has neither where its patch is a line or a point."""
    if contact["law"] == EQUIVALENT_POINT and not contact["area"]:
        return "no area"
    unit = unit_of(contact["peak_pressure"])
    kind = "mean" if contact["law"] == EQUIVALENT_POINT else "peak"
    return f"{1e4 * contact['area']:.2f} cm², {in_unit(contact['peak_pressure'], unit)} {unit[0]} {kind}"


@dataclass(frozen=True)
class RunReport:
    """Outcome of a run; SI units.

    Attributes:
        scene: Name of the scene.
        source: File of the scene.
        time_step: s.
        steps: Steps done.
        simulated_time: s.
        real_time_factor: Simulated over wall-clock time.
        pace: Wall-clock times.
        interrupted: Whether Ctrl-C ended the run.
        max_faces: Most contact faces in a step.
        max_iterations: Most solver iterations in a step.
        max_residual: Largest relative momentum residual of a step.
        unconverged_steps: Steps that did not meet the tolerance, even when cut into smaller ones.
        unrepeated: Equivalent points that kept steps from converging, as "a on b: what", and in how many steps each.
        unsettled_steps: Steps in which friction missed Coulomb's bound.
        stepping: Counters of the stepper, such as cut steps.
        deep_steps: Steps in which a contact lost force because a body was pushed past its medial surface.
        faceless_steps: Steps in which bodies overlapped without contact.
        grip_forces: Grip force of every gripper at the end, in its unit.
        grip_units: Unit of each: N, or N m of a linkage that a revolute joint drives.
        grip_forces_on: The parts of these on each link that the fingers touch, in the same unit.
        contacts: Contact patches at the end.
        contact_warnings: Reasons not to trust the forces of these patches; empty if there are none.
        series: Samples over simulated time.
        recording: Report of the recording; None without a recording.
    """

    scene: str
    source: str
    time_step: float
    steps: int
    simulated_time: float
    real_time_factor: float
    pace: Pace
    interrupted: bool
    max_faces: int
    max_iterations: int
    max_residual: float
    unconverged_steps: int
    unrepeated: dict[str, int]
    unsettled_steps: int
    stepping: dict[str, float | int]
    deep_steps: int
    faceless_steps: int
    grip_forces: dict[str, float]
    grip_units: dict[str, str]
    grip_forces_on: dict[str, dict[str, float]]
    contacts: list[dict[str, Any]]
    contact_warnings: list[str]
    series: dict[str, Any]
    recording: RecordingReport | None

    @property
    def error(self) -> str | None:
        """Reason for an early end of the run; None if there was none."""
        return self.pace.error

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"versions": versions(), **asdict(self)}

    def table(self) -> Table:
        """The report as a table."""
        ended = " (interrupted)" if self.interrupted else ""
        table = Table(
            title=f"{shown(self.scene)}{ended}", title_justify="left", box=box.SIMPLE_HEAD, show_header=False
        )
        table.add_column(justify="right")
        table.add_column()
        for name, value in self._rows():
            table.add_row(name, value)
        return table

    def _rows(self) -> list[tuple[str, str]]:
        pace = self.pace
        took = pace.step_time
        mean, p50, p99, longest = (
            f"{1e3 * value:.3f}" for value in (took.mean, took.p50, took.p99, took.max)
        )
        rows = [
            ("simulated time", f"{self.simulated_time:.3f} s in {self.steps} steps"),
            ("wall-clock time", f"{pace.wall_time:.3f} s"),
            ("real-time factor", f"{self.real_time_factor:.2f}"),
            ("step time", f"mean {mean}, median {p50}, 99 % {p99}, max {longest} ms"),
        ]
        if pace.late_steps is not None and pace.late_max is not None:
            late = f"{pace.late_steps}, at most by {1e3 * pace.late_max:.1f} ms; {pace.skipped_steps} skipped"
            if pace.skipped_steps:
                late += (
                    f", {pace.skipped_steps * self.time_step:.3f} s given up in {pace.times_given_up} times"
                )
            rows.append(("late steps", late))
        rows += [
            ("solver", f"at most {self.max_iterations} iterations, residual {self.max_residual:.1e}"),
            ("unconverged steps", f"{self.unconverged_steps}"),
            *((f"of which {count}", shown(what)) for what, count in self.unrepeated.items()),
            ("unsettled steps", f"{self.unsettled_steps}"),
            *((shown(name.replace("_", " ")), f"{value:.6g}") for name, value in self.stepping.items()),
            (
                "contact faces",
                f"{sum(c['faces'] for c in self.contacts)} at the end, at most {self.max_faces}",
            ),
        ]
        if self.deep_steps or self.faceless_steps:
            lost = f"of {self.deep_steps} steps lost force, of {self.faceless_steps} a pair overlapped without any"
            rows.append(("deep contact", lost))
        for name, grip in self.grip_forces.items():
            unit = self.grip_units[name]
            parts = [f"{part:.3f} {unit} on {link}" for link, part in self.grip_forces_on[name].items()]
            rows.append((shown(f"grip force of {name}"), shown(", ".join([f"{grip:.3f} {unit}", *parts]))))
        for c in self.contacts:
            name = shown(f"{c['body_a']} on {c['body_b']}")
            law = "" if c["law"] == PRESSURE_FIELD else f", {c['law']}"
            rows.append((name, f"{c['normal_force']:.3f} N normal, {_extent(c)}{law}"))
        if self.recording is not None:
            rows.append(("recording", shown(str(self.recording))))
        return rows + [("warning", shown(warning)) for warning in self.contact_warnings]
