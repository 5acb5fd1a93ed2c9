"""What an experiment's rows must be, computed anew from the curves that its record keeps.

Curves are kept to six digits and thinned, so what a row is computed from is known to some digits only; where a
difference or an extreme of a curve loses more of them, the row says how near it must come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from hydro_sim_core.experiments import (
    ExperimentReport,
    face_scaling,
    flat_landing,
    incline,
    m16_nut,
    margin_boxes,
    pad_grip,
    patch_moments,
    point_contact,
    rocking,
    rolling,
    scm_profile,
    sliding_disk,
    sphere_convergence,
    ssdf_isosurface,
    thin_plates,
    turning_balls,
)
from hydro_sim_core.experiments.rigid_pairs import experiment as rigid_pairs
from hydro_sim_core.experiments.rigid_pairs.cases import rest_cases

Curves = Mapping[str, np.ndarray]


class Row(NamedTuple):
    """A row as the curves have it.

    Attributes:
        quantity: Its name.
        value: What was measured.
        relative: How near the record must come to it; by default what the sixth digit leaves open.
        absolute: The same where the value may be 0.
    """

    quantity: str
    value: float
    relative: float = 5e-6
    absolute: float = 0.0


def rows_of_curves(name: str, report: ExperimentReport) -> list[Row]:
    """The rows of an experiment that its curves determine."""
    curves = {column: np.array(values) for column, values in report.series.items()}
    references = {c.quantity: c.reference for c in report.comparisons}
    return list(_ROWS[name](curves, references))


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    """Exponent of the power of x that fits best."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _half_of_the_sixth_digit(value: float) -> float:
    return float(0.5 * 10.0 ** (math.floor(math.log10(abs(value))) - 5))


def _spatula_slip(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    pitch = dict(zip(curves["time"].tolist(), curves["pitch"].tolist(), strict=True))
    force = dict(zip(curves["time"].tolist(), curves["grip_force"].tolist(), strict=True))
    for time in (0.5, 4.5, 6.0, 6.5, 10.5, 12.0, 12.5, 16.5):
        yield Row(f"pitch at {time:g} s", pitch[time])
    for time in (4.5, 6.0):
        yield Row(f"grip force at {time:g} s", force[time])
    for grasp, (closed, opened, closing) in enumerate(((0.5, 4.5, 6.0), (6.5, 10.5, 12.0)), 1):
        creep = (pitch[opened] - pitch[closed]) / (opened - closed)
        slip = pitch[closing] - pitch[opened]
        yield Row(f"creep, secure grasp {grasp}", 1e3 * creep, relative=5e-4)
        yield Row(f"slip, loose grasp {grasp}", slip, relative=1e-5)
        yield Row(
            f"speed of creep over slip, grasp {grasp}", creep * (closing - opened) / slip, relative=5e-4
        )
    yield Row("creep, secure grasp 3", 1e3 * (pitch[16.5] - pitch[12.5]) / 4.0, relative=3e-4)


def _spatula_release(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    angles = {
        name: dict(zip(curves["time"].tolist(), curves[f"pitch, {name} inertia"].tolist(), strict=True))
        for name in ("physical", "published")
    }
    for time in (4.5, 4.6, 4.7, 4.8, 4.9, 5.0, 5.1, 5.2):
        yield Row(f"pitch at {time:g} s", angles["physical"][time])
    for name, pitch in angles.items():
        yield Row(f"turn in 0.3 s, {name} inertia", pitch[4.8] - pitch[4.5], absolute=1e-6)


def _slip_control(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    pitch = dict(zip(curves["time"].tolist(), curves["pitch"].tolist(), strict=True))
    force = dict(zip(curves["time"].tolist(), curves["grip_force"].tolist(), strict=True))
    for time in (1.5, 3.0, 4.5, 6.0):
        yield Row(f"pitch at {time:g} s", pitch[time])
    for time in (1.4, 2.9):
        for side in ("left", "right"):
            yield Row(f"{side} normal force at {time:g} s", force[time])


def _incline(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    below = curves["angle"] < math.degrees(math.atan(incline.FRICTION))
    for angle, speed, acceleration, creeps in zip(
        curves["angle"], curves["speed"], curves["acceleration"], below, strict=True
    ):
        if creeps:
            yield Row(f"creep at {angle:g}° (own law)", 1e6 * speed)
        else:
            yield Row(f"acceleration at {angle:g}°", acceleration)
    yield Row("fastest creep (Coulomb: none)", curves["speed"][below].max() / incline.STICTION_SPEED)
    down, across = curves["speed downhill"], curves["speed across"]
    yield Row("speed downhill after crossing", down[-1])
    # The least of every sixth step.
    yield Row("least speed plus its downhill part", (np.hypot(down, across) + down).min(), relative=1e-5)


def _rolling(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    for shape, body in rolling.BODIES.items():
        slips = math.degrees(rolling.slipping_angle(body.share))
        for angle, acceleration, spin in zip(
            curves["angle"], curves[f"acceleration, {shape}"], curves[f"spin, {shape}"], strict=True
        ):
            yield Row(f"{shape} {'slips' if angle > slips else 'rolls'} down {angle:g}°", acceleration)
            if angle > slips:
                yield Row(f"spin of the {shape} at {angle:g}°", spin)
        yield Row(f"{shape}: speed after 1 s on level ground", curves[f"speed, {shape}"][-1])
        # What is left of heights in six digits.
        yield Row(f"{shape}: way up and down", np.ptp(curves[f"height, {shape}"]), relative=1e-2)


def _sphere_convergence(curves: Curves, references: Mapping[str, float]) -> Iterator[Row]:
    for pair in sphere_convergence.PAIRS:
        error = curves[f"error, {pair.name}"]
        yield Row(f"order, {pair.name}", _slope(curves["edge"], error))
        exact = pair.force(sphere_convergence.RADIUS)
        for edge, share in zip(curves["edge"], error, strict=True):
            yield Row(f"force, edges of {1e3 * edge:.1f} mm", exact * (1.0 - share))


def _off_centre_box(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    for modulus, tilt in zip(curves["modulus"], curves["tilt"], strict=True):
        yield Row(f"reproduced: tilt, {modulus:g} Pa, 10 mm off", tilt)
    (at_centroids,) = curves["at centroids"]
    yield Row(
        "reproduced: tilt, 1e+06 Pa, faces at their centroids (Drake)",
        at_centroids * curves["Winkler"][0],
        relative=1e-5,
    )


def _rocking(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    for name in ("rocking", "bouncing"):
        for modulus, period in zip(rocking.MODULI, curves[f"period of {name}"], strict=True):
            yield Row(f"reproduced: period of {name}, {modulus:g} Pa", period)


def _flat_landing(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    for name in flat_landing.ALL:
        yield Row(f"reproduced: energy lost or gained, {name}", curves[f"change, {name}"][-1])


def _patch_moments(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    of_all = 0.0
    for name in patch_moments.KINDS:
        force, moment = curves[f"force, {name}"], curves[f"moment, {name}"]
        is_dropped = curves[f"polygons dropped, {name}"] > 0.0
        if not is_dropped.all():
            yield Row(f"reproduced: {name}: force", force[~is_dropped].max())
            yield Row(f"reproduced: {name}: moment", moment[~is_dropped].max())
        if is_dropped.any():
            yield Row(f"differs: {name}, faces dropped: force", force[is_dropped].max())
            yield Row(f"differs: {name}, faces dropped: moment", moment[is_dropped].max())
            of_all = max(of_all, curves[f"all polygons, {name}"][is_dropped].max())
    yield Row("reproduced: all pairs, faces dropped: force and moment of all polygons", of_all)


def _energy(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    yield Row("energy lost or gained in 100 bounces", np.abs(curves["continuous"]).max())
    for name in ("lagged, 0.1 ms", "lagged, 1 ms"):
        gain = max(np.diff(curves[name], prepend=0.0).max(), 0.0)
        yield Row(f"energy gained from bounce to bounce, {name}", gain, absolute=1e-9)
    yield Row("share of the energy lost in a bounce, lagged, 0.1 ms", -100.0 * curves["lagged, 0.1 ms"][0])
    speed, rim = curves["speed, sliding"], curves["spin times radius, sliding"]
    yield Row("speed of rolling after sliding", speed[-1])
    # Of a solid ball, the inertia is 2/5 m R^2.
    left = (speed[-1] ** 2 + 0.4 * rim[-1] ** 2) / turning_balls.SPEED**2
    yield Row("energy lost by sliding", 1.0 - left, absolute=3e-6)


def _fem_layer(curves: Curves, references: Mapping[str, float]) -> Iterator[Row]:
    shares = curves["share, wavelength 4"]
    for amplitude, share in zip(curves["amplitude"], shares, strict=True):
        where = f"at {amplitude:g} depths"
        force = share * references[f"force {where}"]
        yield Row(f"force {where}", force)
        yield Row(f"force of springs {where}", force)
    yield Row("share of the elastic force, largest amplitude (wave chosen to match)", shares[-1])


def _face_scaling(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    faces, triangles = curves["faces"], curves["triangles"]
    for wanted, found, split in zip((200, 440, 800, 1190, 2000), faces, triangles, strict=True):
        yield Row(f"faces of the mesh for {wanted}", found)
        yield Row(f"triangles a polygon, {found:.0f} faces", split / found)
    for part in face_scaling.PAPER_EXPONENTS:
        exponent = _slope(faces, curves[f"{part} time"])
        yield Row(
            f"{'differs' if face_scaling.LEAST[part] else 'reproduced'}: exponent of the {part}'s time",
            exponent,
        )
    gain = curves["solver time, triangles"][-1] / curves["solver time"][-1]
    yield Row(f"solver's time, triangles over polygons, {faces[-1]:.0f} faces", gain)


def _sliding_disk(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    ratios = curves["ratio"]
    for start, ratio in zip(curves["start"], ratios, strict=True):
        yield Row(f"reproduced: ε* from ε = {start:g}", ratio)
    yield Row(
        "reproduced: ε* farthest from a disc's", ratios[np.argmax(np.abs(ratios - sliding_disk.PAPER_DISC))]
    )
    for start, ratio in zip(curves["start"], curves["ratio at 1 ms"], strict=True):
        is_on_the_way = start in sliding_disk.ON_THE_WAY
        verdict = "differs" if is_on_the_way else "reproduced"
        yield Row(f"{verdict}: ε* from ε = {start:g}, 1 ms", ratio)
        if is_on_the_way:
            yield Row(f"not reproducible: ε on the way from ε = {start:g}, 1 ms", ratio)
    limit = np.polyfit(curves["rings"] ** -2.0, curves["ratio of rings"], 1)[1]
    yield Row("reproduced: ε* at infinitely many faces", limit)
    yield Row(
        "reproduced: order in the time step", _slope(curves["time step"], curves["error over time step"])
    )
    yield Row(
        "reproduced: order in the cell size", _slope(curves["cell size"], curves["error over cell size"])
    )


def _point_contact(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    on_points, on_patches = curves["turn, points"][-1], curves["turn, patches"][-1]
    yield Row("turn in 4 s on points", on_points)
    yield Row("turn on patches over turn on points", on_patches / on_points)
    radii = np.array(point_contact.PAD_RADII)
    turns = np.array([curves[f"turn, pads of {1e3 * radius:g} mm"][-1] for radius in radii])
    for radius, turn in zip(radii, turns, strict=True):
        moment, next_to_it = (
            pad_grip.moment_of_turn(angle, point_contact.SWINGING_TIME)
            for angle in (turn, turn + _half_of_the_sixth_digit(turn))
        )
        # What half of the turn's last digit is of the moment: more, the smaller that is.
        name = f"slipping moment of pads of {1e3 * radius:g} mm"
        yield Row(name, moment, absolute=abs(next_to_it - moment))
    lack = curves["turn, bar on points"][-1] - turns
    order = math.log2(lack[-2] / lack[-1])
    yield Row("order in the radius, turn on pads to that on points", order, relative=1e-4)
    limit = np.polyfit(radii, turns, len(radii) - 1)[-1]
    yield Row("turn on pads of no size, extrapolated", limit, relative=2e-5)
    for name, body in (("disc", point_contact.DISC), ("ball", point_contact.BALL)):
        slowing, _ = np.polyfit(curves["time, spin"], curves[f"spin, {name}"], 1)
        yield Row(f"slipping moment of the {name}", -body.moment_of_inertia * slowing, relative=1e-6)
    yield Row(
        "the same over the patch's faces", -point_contact.BALL.moment_of_inertia * slowing, relative=1e-6
    )
    decay, _ = np.polyfit(curves["time, rolling"], np.log(curves["rolling, ball"]), 1)
    yield Row("decay of the ball's rolling", -decay, relative=1e-6)


def _ecp_desk(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    yield Row("v_x, one point less quadratic", curves["difference of v_x"].max())
    yield Row("ω_z, one point less quadratic", curves["difference of ω_z"].max())
    yield Row("v_x, a point a foot less one point, not turned", curves["difference of v_x, not turned"].max())
    yield Row("the point, one point less quadratic", curves["difference of the point"].max())
    yield Row("largest a_z", np.abs(curves["a_z"]).max())
    c, s = np.cos(curves["heading"]), np.sin(curves["heading"])
    x, y = curves["point x"], curves["point y"]
    along = np.abs([c * x + s * y, c * y - s * x])
    yield Row("steps with the point outside the feet", float((along.min(axis=0) < 0.19).sum()))
    yield Row("steps with the point inside their hull", float((along.max(axis=0) < 0.25).sum()))


def _ecp_t_bar(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    # Every second step is kept.
    yield Row("spells on other corners", float((curves["touches"] == 3).sum()))
    time = curves["time"].tolist()
    yield Row("speed after the push", curves["speed"][time.index(2.75)])
    yield Row("spin after the turning", curves["spin"][time.index(4.25)])


def _ecp_analytic(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    for share, point in zip(curves["share"], curves["point"], strict=True):
        yield Row(f"the point, pushed by {share:g} of what tips", point)
    apart, moduli = curves["soft box less the point"], curves["modulus"]
    order = -np.log(apart[-1] / apart[-2]) / np.log(moduli[-1] / moduli[-2])
    yield Row("order in softness: where soft boxes bear it less the point", order)


def _margin_boxes(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    frequency, spread, acceleration = (curves[key] for key in ("frequency", "spread", "acceleration"))
    rattles = acceleration > margin_boxes.RATTLING
    yield Row("reproduced: no margin, median that rattles", np.median(spread[rattles]))
    yield Row("reproduced: no margin, most", spread[rattles].max())
    yield Row("reproduced: no margin, π₁ < π, acceleration", acceleration[frequency < math.pi].max())
    yield Row("differs: no margin, π₁ > π, share that rattles", rattles[frequency > math.pi].mean())
    yield Row("differs: no margin, least π₁ that rattles", frequency[rattles].min())
    margins = curves["margin"]
    for step, enough in (("0.2", 0.1), ("1", 0.1), ("10", 0.01)):
        spreads, verdict = curves[f"spread at {step} ms"], "differs" if step == "0.2" else "reproduced"
        yield Row(f"{verdict}: {step} ms, no margin", curves[f"spread at {step} ms, no margin"][0])
        yield Row(f"{verdict}: {step} ms, margin {enough:g} δt² g or more", spreads[margins >= enough].max())
        if step == "1":
            # All that were tried hold.
            assert (spreads < margin_boxes.SMALL_SPREAD).all()
            ratio = enough / margins.min()
            yield Row(f"differs: {step} ms, page's margin over the least tried that holds", ratio)


def _rigid_pairs(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    for i, case in enumerate(rest_cases()):
        for quantity in rigid_pairs.MEASURED:
            yield Row(f"{case.scene.name}: {quantity}", curves[f"{quantity}, hydro-sim"][i])


def _thin_plates(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    for i, case in enumerate(thin_plates.CASES):
        on_it, between = curves["force"][i], curves["force between fingers"][i]
        if case.is_narrow:
            yield Row(f"{case.name}: force of a finger on it and the other finger", on_it + between)
        else:
            yield Row(f"{case.name}: force of a finger on it", on_it)
        for direction in thin_plates.PULLS:
            for quantity in thin_plates.MEASURED:
                value = curves[f"{quantity}, {direction}"][i]
                yield Row(f"{case.name}, {direction}: {quantity}", value)


def _ssdf_isosurface(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    for epsilon, radius in zip(ssdf_isosurface.TEMPERATURES, curves["radius, sphere"], strict=True):
        yield Row(f"reproduced: unit sphere at {epsilon:g}: radius", radius)
    angle = 2.0 * np.pi * np.arange(180) / 180
    outline = 1.0 / np.maximum(np.abs(np.cos(angle)), np.abs(np.sin(angle)))
    off = np.abs(curves["level, square at 0.01"] - outline).max()
    yield Row("reproduced: square at 0.01: farthest from the outline", off, relative=3e-4)
    first, last = curves["hot square, beyond the root of e"]
    yield Row("reproduced: square at 1000: radius over the root of e", 1.0 + last)
    yield Row("reproduced: square, hot: order in 1 / e", math.log10(first / last))
    width, height = curves["hot square of uneven points"]
    yield Row("reproduced: square of uneven points at 1000: height over width", height / width)
    yield Row("reproduced: torus: temperature at which its hole closes", curves["hole"][0])
    across, along = curves["hot torus"]
    yield Row("reproduced: torus at 1000: radius", across)
    yield Row("reproduced: torus at 1000: half its height", along)
    wrong = curves["share of a side turned over"][0]
    yield Row("reproduced: one side turned over: outside taken for inside", wrong)
    order = -_slope(curves["fineness"], curves["error of the level"])
    yield Row("reproduced: square at 0.5: order in the distance of points", order, relative=1e-5)


def _scm_profile(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    force, gradient, near, far, slope, bend = curves["laws"]
    yield Row("reproduced: force, 20 mm deep", force)
    yield Row("reproduced: its slope", gradient)
    yield Row("reproduced: fall of the force between gaps of 10 and 20 mm", near / far, relative=1e-5)
    yield Row("reproduced: slope over force, gap of 10 mm", slope / near, relative=1e-5)
    yield Row("reproduced: Hessian over force, gap of 10 mm", bend / near, relative=1e-5)
    yield Row("reproduced: concentric: force", curves["middle"][0])
    yield Row(f"differs: {scm_profile.STABLE}", curves["middle"][1])
    yield Row("reproduced: gradients less central differences", curves["error of gradients"][0])
    ratio = curves["ratios"][0]
    yield Row("reproduced: halved samples: largest change of the gradient falls by", ratio)


def _m16_nut(curves: Curves, _: Mapping[str, float]) -> Iterator[Row]:
    turns = curves["turns"]
    marks = m16_nut.SETTLING + np.arange(m16_nut.TURNS + 1)
    for i, advance in enumerate(np.diff(np.interp(marks, turns, curves["descent"]))):
        yield Row(f"advance in turn {i + 1}", 1e3 * advance, relative=1e-5)
    measured = turns >= m16_nut.SETTLING
    yield Row("overlap of the true threads", 1e3 * curves["overlap"][measured].max())
    for quantity in ("moment", "moment, as flanks touch at the crest"):
        yield Row(quantity, curves["moment"][measured].mean())


def _planar_push(curves: Curves, references: Mapping[str, float]) -> Iterator[Row]:
    for quantity in references:
        name, what = quantity.rsplit(": ", 2)[-2:]
        yield Row(quantity, curves[f"{what}, {name}"].mean())


_ROWS: dict[str, Callable[[Curves, Mapping[str, float]], Iterator[Row]]] = {
    "spatula_slip": _spatula_slip,
    "spatula_slip_arm": _spatula_slip,
    "spatula_release": _spatula_release,
    "slip_control": _slip_control,
    "slip_control_arm": _slip_control,
    "incline": _incline,
    "rolling": _rolling,
    "sphere_convergence": _sphere_convergence,
    "energy": _energy,
    "off_centre_box": _off_centre_box,
    "patch_moments": _patch_moments,
    "rocking": _rocking,
    "flat_landing": _flat_landing,
    "fem_layer": _fem_layer,
    "face_scaling": _face_scaling,
    "sliding_disk": _sliding_disk,
    "point_contact": _point_contact,
    "ecp_analytic": _ecp_analytic,
    "ecp_desk": _ecp_desk,
    "ecp_t_bar": _ecp_t_bar,
    "margin_boxes": _margin_boxes,
    "rigid_pairs": _rigid_pairs,
    "thin_plates": _thin_plates,
    "ssdf_isosurface": _ssdf_isosurface,
    "scm_profile": _scm_profile,
    "m16_nut": _m16_nut,
    "planar_push": _planar_push,
}
