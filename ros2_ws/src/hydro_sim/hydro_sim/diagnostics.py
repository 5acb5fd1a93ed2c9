"""``/diagnostics``: status of timing, solver, contact quality and rejected commands."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from hydro_sim.hil.link import CommandLink
from hydro_sim.hil.priority import Priority
from hydro_sim.parameters import LOCK_STEP, Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import shortened
from hydro_sim_core.simulation import Distribution, FixedRateRunner, RunnerReport
from hydro_sim_core.simulation.running.timing import LOSSES
from hydro_sim_core.simulation.world.contact_summary import ContactSummary

#: Share of the requested real-time factor below which the simulation counts as slow.
_ON_TIME = 0.95
#: Share of late steps in a second from which on they are worth a warning, and share of steps given up for an error.
_MANY_LATE, _MANY_GIVEN_UP = 0.01, 0.01
#: Most silent pairs, and links in a gripper, that are named.
_MOST_NAMES = 10


class Diagnostics:
    """Publishes one ``DiagnosticArray`` a second of wall time, also while paused.

    Args:
        node: Owner of the publisher.
        runner: Source of timing and solver figures.
        parameters: Parameters with the requested real-time factor and the mode.
        rejections: Counter of rejected commands.
        link: Command link, with statistics of the others.
        priority: Priority of the stepping thread.
        unsent: State messages that were due and not sent, by topic; still counted while this publishes.
    """

    def __init__(
        self,
        node: Node,
        runner: FixedRateRunner,
        parameters: Parameters,
        rejections: Rejections,
        link: CommandLink,
        unsent: Mapping[str, int],
        priority: Priority,
    ) -> None:
        self._node = node
        self._runner = runner
        self._parameters = parameters
        self._rejections = rejections
        self._link = link
        self._unsent, self._unsent_before = unsent, 0
        self._priority = priority
        self._lost: Counter[str] = Counter()
        self._shared: set[str] = set()
        self._last = runner.report()
        self._refused = self._clamped = self._bad_steps = 0
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        node.create_timer(1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        parts = (
            self._timing,
            self._solver,
            self._contact,
            self._laws,
            self._commands,
            self._commands_lost,
            self._states_unsent,
            self._namesakes,
            self._clock,
        )
        message = DiagnosticArray(status=[part() for part in parts])
        # Monitors compare this stamp with their own wall clock.
        message.header.stamp = Clock(clock_type=ClockType.SYSTEM_TIME).now().to_msg()
        self._publisher.publish(message)

    def _timing(self) -> DiagnosticStatus:
        report, last = self._runner.report(), self._last
        self._last = report
        simulated, wall = report.simulated_time - last.simulated_time, report.wall_time - last.wall_time
        factor = simulated / wall if wall > 0.0 else 0.0
        if self._runner.failure is not None:
            level, text = DiagnosticStatus.ERROR, f"paused: {self._runner.failure}"
        elif self._runner.paused:
            level, text = DiagnosticStatus.OK, "paused"
        elif self._parameters.mode == LOCK_STEP:
            waits = self._runner.waiting_for_permit and simulated == 0.0
            level, text = DiagnosticStatus.OK, "waiting for a command" if waits else "in lock-step"
        else:
            level, text = punctuality(last, report, factor, self._parameters.pace)
        values = {
            "real-time factor": factor,
            "real-time factor since start": report.real_time_factor,
            "simulated time [s]": report.simulated_time,
            "steps": report.steps,
            "overruns": report.overruns,
            "most overruns in a row": report.longest_overrun,
            "scheduling": self._priority.scheduling,
            "not permitted": "; ".join(self._priority.refused) or "nothing",
            "steps in the compiled loop": self._runner.steps_in_loop,
            "states that followers missed": self._runner.states_lost,
            "skipped steps": report.skipped_steps,
            "time given up [s]": report.given_up,
            "largest lateness [ms]": 1e3 * report.late_max,
            "achieved rate [Hz]": report.achieved_rate,
            **_milliseconds("step time", report.step_time),
            **_milliseconds("period", report.period),
        }
        return self._status("timing", level, text, values)

    def _solver(self) -> DiagnosticStatus:
        values = self._runner.snapshot().diagnostics
        converged = bool(values.get("converged", True))
        level = DiagnosticStatus.OK if converged else DiagnosticStatus.WARN
        return self._status("solver", level, "converged" if converged else "did not converge", values)

    def _contact(self) -> DiagnosticStatus:
        """Status of contact quality, estimated in this thread because the stepping thread has no time for it."""
        snapshot = self._runner.snapshot()
        summary = snapshot.contact_summary
        deep, faceless = (int(snapshot.diagnostics[key]) for key in ("deep_steps", "faceless_steps"))
        lost = deep + faceless - self._bad_steps
        self._bad_steps = deep + faceless
        level, text = DiagnosticStatus.OK, "resolved" if summary.patches else "no contact"
        if lost > 0:  # a reset restarts the counts
            level, text = DiagnosticStatus.WARN, f"contact was lost in {lost} steps of the last second"
        if summary.warnings:
            level, text = DiagnosticStatus.WARN, str(summary.warnings[0])
            others = len(summary.warnings) - 1
            text += f" (and {others} more)" if others else ""
        counts: dict[str, float] = {"deep steps": deep, "steps with overlaps without contact": faceless}
        for gripper, forces in snapshot.grip_forces_on.items():
            name, unit = shortened(gripper), snapshot.grip_units[gripper]
            held = {f"{name} on {shortened(link)} [{unit}]": force for link, force in forces.items()}
            counts |= dict(islice(held.items(), _MOST_NAMES))
        return self._status("contact", level, text, _contact_values(summary) | counts)

    def _laws(self) -> DiagnosticStatus:
        """Status of which contact law pairs of links have; long lists are for ``hydro-sim check``."""
        laws = self._runner.snapshot().contact_laws
        counts = {law: count for law, count in (laws.counts | {"silent": len(laws.silent)}).items() if count}
        text = ", ".join(f"{count} {law}" for law, count in counts.items()) or "no pairs"
        names = [f"{shortened(a)} and {shortened(b)}" for a, b in laws.silent[:_MOST_NAMES]]
        others = len(laws.silent) - len(names)
        values = {
            **{f"pairs with {law}": count for law, count in laws.counts.items()},
            "silent pairs": len(laws.silent),
            "names of silent pairs": ", ".join(names) + (f" and {others} more" if others else ""),
        }
        return self._status("contact laws", DiagnosticStatus.OK, text, values)

    def _commands(self) -> DiagnosticStatus:
        refused = self._rejections.total - self._refused
        self._refused = self._rejections.total
        level = DiagnosticStatus.WARN if refused else DiagnosticStatus.OK
        text = f"{refused} refused in the last second" if refused else "none refused in the last second"
        clamped = self._rejections.clamped
        if clamped > self._clamped:
            text += f", {clamped - self._clamped} positions moved to their limits"
        self._clamped = clamped
        values = {
            "refused since start": self._rejections.total,
            "positions moved to their limits since start": clamped,
            **self._rejections.counts,
        }
        return self._status("commands", level, text, values)

    def _commands_lost(self) -> DiagnosticStatus:
        """Status of valid commands that were lost or dropped on the link."""
        reports = self._link.reports()
        lost = Counter({what: sum(getattr(r, what) for r in reports.values()) for what in LOSSES})
        news = lost - self._lost
        self._lost = lost
        values: dict[str, Any] = {what.replace("_", " "): lost[what] for what in LOSSES}
        for name, report in reports.items():
            if report.received:
                values |= {f"{name}: received": report.received, f"{name}: applied": report.applied}
                values |= _milliseconds(f"{name}: age", report.age)
                values |= _milliseconds(f"{name}: latency", report.latency)
        unheard = self._link.unheard_publishers()
        if unheard:
            return self._status("link", DiagnosticStatus.WARN, unheard[0], values)
        if not news:
            return self._status("link", DiagnosticStatus.OK, "every command arrived", values)
        text = ", ".join(f"{news[what]} {what.replace('_', ' ')}" for what in LOSSES if news[what])
        return self._status("link", DiagnosticStatus.WARN, f"in the last second: {text}", values)

    def _states_unsent(self) -> DiagnosticStatus:
        """Status of state messages that were left out, because the publishing thread was too late."""
        unsent = dict(self._unsent)
        news = sum(unsent.values()) - self._unsent_before
        self._unsent_before += news
        # As fast as possible is faster than messages go out.
        paced = math.isfinite(self._parameters.pace)
        level = DiagnosticStatus.WARN if news and paced else DiagnosticStatus.OK
        text = f"{news} left out in the last second" if news else "all state messages were sent"
        return self._status(
            "state messages", level, text, {f"{name}: left out": n for name, n in unsent.items()}
        )

    def _namesakes(self) -> DiagnosticStatus:
        """Status of other publishers on this node's topics, which ROS allows but which break everything."""
        own = (self._node.get_name(), self._node.get_namespace())
        others = self._node.get_node_names_and_namespaces().count(own) - 1
        name = self._node.get_fully_qualified_name()
        text = f"another node is called {name}: give one of them another name or namespace"
        return self._alone("name", max(0, others), text, "no other node has this name")

    def _clock(self) -> DiagnosticStatus:
        """Status of the clock, which must have one source; with two, time jumps for all its users."""
        if not self._parameters.publish_clock:
            return self._status("clock", DiagnosticStatus.OK, "left to another node", {})
        others = self._node.count_publishers("/clock") - 1
        text = "/clock has another publisher, so time jumps: set publish_clock false in all nodes but one"
        return self._alone("clock", max(0, others), text, "nobody else publishes /clock")

    def _alone(self, part: str, others: int, problem: str, usual: str) -> DiagnosticStatus:
        """Status of a part that must be unique to this node; the problem is logged when it appears."""
        if others and part not in self._shared:
            self._node.get_logger().warning(problem)
        (self._shared.add if others else self._shared.discard)(part)
        level = DiagnosticStatus.WARN if others else DiagnosticStatus.OK
        return self._status(part, level, problem if others else usual, {"others": others})

    def _status(self, part: str, level: bytes, text: str, values: Mapping[str, Any]) -> DiagnosticStatus:
        pairs = [KeyValue(key=key, value=_format(value)) for key, value in values.items()]
        name = f"{self._node.get_name()}: {part}"
        return DiagnosticStatus(level=level, name=name, message=text, hardware_id="hydro_sim", values=pairs)


def punctuality(before: RunnerReport, now: RunnerReport, factor: float, target: float) -> tuple[bytes, str]:
    """Level and text for how a runner kept its deadlines between two reports.

    A late step that is caught up with may still have disturbed a controller, so many of them are a warning; steps that
    were given up are missing from the simulated time for good, so they are one always, and many of them an error.

    Args:
        before: The earlier report.
        now: The later report.
        factor: Real-time factor between them.
        target: Real-time factor asked for; infinite for no deadlines.
    """
    steps, late = now.steps - before.steps, now.overruns - before.overruns
    given_up = now.skipped_steps - before.skipped_steps
    words = [f"{late} of {steps} steps late"] if late else []
    level = DiagnosticStatus.WARN if late > _MANY_LATE * steps else DiagnosticStatus.OK
    if factor < _ON_TIME * target and math.isfinite(target):
        level = DiagnosticStatus.WARN
        words.insert(0, f"slower than asked for: {factor:.3f} of {target:g}")
    if given_up:
        many = given_up > _MANY_GIVEN_UP * (steps + given_up)
        level = DiagnosticStatus.ERROR if many else DiagnosticStatus.WARN
        words.insert(0, f"gave up {given_up} steps ({now.given_up - before.given_up:.3f} s)")
    if level == DiagnosticStatus.OK:
        words.insert(0, "on time")
    return level, ", ".join(words) + (" in the last second" if late or given_up else "")


def _milliseconds(name: str, durations: Distribution) -> dict[str, float]:
    return {f"{name} {label} [ms]": value for label, value in durations.in_milliseconds().items()}


def _contact_values(summary: ContactSummary) -> dict[str, Any]:
    values: dict[str, Any] = {"patches": len(summary.patches)}
    if summary.worst is not None:
        quality = summary.worst.quality
        values |= {
            "worst patch": f"{summary.worst.name_a} on {summary.worst.name_b}",
            "faces of the worst patch": quality.num_faces,
            "size of a face over the worst patch": quality.face_size_ratio,
            "estimated force error of the worst patch [%]": 100.0 * quality.force_error,
        }
    return values | {
        "under-resolved patches": len(summary.under_resolved),
        "patches past a medial surface": len(summary.deep),
        "overlaps without contact": len(summary.faceless_overlaps),
    }


def _format(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
