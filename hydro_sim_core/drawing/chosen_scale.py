"""Chooses the colour scale of a scene or a recording: fixed before anything is shown, and the same in every output.

docs/decisions/0011-viewer.md compares it with other ways.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.contact.laws import LAWS
from hydro_sim_core.drawing.patch_surface import patch_faces
from hydro_sim_core.drawing.pressure_scale import DEFAULT_FULL_SCALE, LARGEST, LEAST, PressureScale
from hydro_sim_core.simulation import World

#: Simulated time that a trial run lasts after its first contact, s, and how long it waits for one.
_STRETCH: Final = 1.0
_LONGEST_WAIT: Final = 2.0
#: Instants of the trial run that are looked at, Hz of simulated time.
_RATE: Final = 30.0
#: Longest trial run, s of processor time, for scenes that are far slower than real time. How busy the machine is must
#: not decide on colours.
_PATIENCE: Final = 3.0
#: A pair that touches in a smaller share of the instants than the most frequent one says nothing about the scale.
_LEAST_SHARE: Final = 0.1
#: Leading digits of full scales, so that a legend has round numbers.
_DIGITS: Final = (1.0, 2.0, 5.0, 10.0)

#: Largest pressure of every pair in contact at an instant, Pa, by any name of the pair.
Peaks = Mapping[str, float]
#: The same by contact law, for the laws that are in contact.
PeaksByLaw = Mapping[str, Peaks]


def scale_of_world(world: World) -> PressureScale:
    """The scale for the contacts that a world has in the first second of them.

    A copy of the world is stepped from its start; the world itself stays as it is. The scale is a property of the
    scene, whatever has happened since its start. Of a robot whose hand has touched nothing by then it is not known
    how hard it will press, so the scale then reaches the default at least.

    Args:
        world: The world, which no other thread may step meanwhile.
    """
    trial = world.copy()
    trial.reset()
    instants: list[PeaksByLaw] = []
    touched: set[str] = set()
    steps = max(1, round(1.0 / (_RATE * trial.time_step)))
    end, out_of_patience = _LONGEST_WAIT, time.thread_time() + _PATIENCE
    while trial.time < end and time.thread_time() < out_of_patience:
        try:
            trial.step(steps)
        except FloatingPointError:
            break  # whoever runs the world is told
        patches = trial.contacts
        if not patches:
            continue
        if not instants:
            end = trial.time + _STRETCH
        instants.append(peaks_by_law(patches))
        touched.update(name for patch in patches for name in (patch.name_a, patch.name_b))
    hands = _hands(world)
    return scale_of_instants(instants, DEFAULT_FULL_SCALE if hands and not hands & touched else 0.0)


def scale_of_instants(instants: Sequence[PeaksByLaw], at_least: float = 0.0) -> PressureScale:
    """The scale for the compliant pairs at some instants; for rigid ones if no compliant ones touch.

    A rigid body's skin has whatever pressure its stiffness makes of a corner or an edge, up to millions of times
    that of a soft finger. It is shown in the colour of the upper end.

    Args:
        instants: Peaks at instants in equal steps of time.
        at_least: Lower bound of the full scale, Pa.
    """
    of_laws = ([peaks.get(law, {}) for peaks in instants] for law in LAWS)
    touching = (one for one in of_laws if any(peak > 0.0 for peaks in one for peak in peaks.values()))
    return scale_of_peaks(next(touching, ()), at_least)


def scale_of_peaks(instants: Sequence[Peaks], at_least: float = 0.0) -> PressureScale:
    """The scale that reaches the peaks of the pair that presses hardest, rounded up to 1, 2 or 5 times a power of 10.

    A pair counts by the median of its peaks, so an impact of a few milliseconds, a thousand times harder than what
    follows, does not darken all the rest. It is shown in the colour of the upper end, marked as such in legends.

    Args:
        instants: Peaks at instants in equal steps of time.
        at_least: Lower bound of the full scale, Pa.
    """
    of_pair: dict[str, list[float]] = {}
    for peaks in instants:
        for pair, peak in peaks.items():
            if peak > 0.0:
                of_pair.setdefault(pair, []).append(peak)
    if not of_pair:
        return PressureScale()
    most = max(map(len, of_pair.values()))
    typical = max(median(peaks) for peaks in of_pair.values() if len(peaks) >= _LEAST_SHARE * most)
    return PressureScale(min(max(_rounded_up(typical), at_least, LEAST), LARGEST))


def peaks_of(patches: Iterable[ContactPatch]) -> Peaks:
    """Largest pressure of each pair at the corners of its faces, Pa."""
    peaks: dict[str, float] = {}
    for patch in patches:
        pair = f"{patch.name_a} on {patch.name_b}"
        peaks[pair] = max(peaks.get(pair, 0.0), patch_faces(patch.faces).pressures.max(initial=0.0))
    return peaks


def peaks_by_law(patches: Iterable[ContactPatch]) -> PeaksByLaw:
    """The same apart for each law."""
    of_law: dict[str, list[ContactPatch]] = {}
    for patch in patches:
        of_law.setdefault(patch.law, []).append(patch)
    return {law: peaks_of(alike) for law, alike in of_law.items()}


def _rounded_up(pressure: float) -> float:
    power = 10.0 ** math.floor(math.log10(pressure))
    return next(digit * power for digit in _DIGITS if digit * power >= pressure * (1.0 - 1e-9))


def _hands(world: World) -> set[str]:
    """Links that move with the fingers of grippers; without any, those that move with driven joints."""
    driven = set(world.gripper_joint_names or world.actuated_joint_names)
    hands: set[str] = set()
    for robot in world.scene.robots:
        for joint in robot.joints:  # parents come first
            if joint.name in driven or joint.parent in hands:
                hands.add(joint.child)
    return hands
