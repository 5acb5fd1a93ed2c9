"""The page of the experiments, its pictures and the records behind both say the same, and a changed number is seen.

What fell behind is written anew by ``make validation``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import __version__ as matplotlib_version
from matplotlib.image import imread

from hydro_sim_core.experiments import EXPERIMENTS, Comparison, ExperimentReport, sliding_disk
from hydro_sim_core.experiments.page import Record, page, read_records
from support.experiments.curves import rows_of_curves

FOLDER = Path(__file__).parents[2] / "docs" / "validation"
PAGE = FOLDER.with_suffix(".md").read_text()
#: Values of a curve, and digits of each.
VALUES, DIGITS = 400, 6
#: Share of a picture's pixels that may differ, and by how much of full brightness they must.
PIXELS, BRIGHTNESS = 2e-5, 0.1


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    return {record.experiment: record for record in read_records(FOLDER)}


def with_rows(record: Record, rows: tuple[Comparison, ...]) -> Record:
    return replace(record, report=replace(record.report, comparisons=rows))


def with_curve(report: ExperimentReport, column: str, factor: float) -> ExperimentReport:
    scaled = [factor * value for value in report.series[column]]
    return replace(report, series={**report.series, column: scaled})


# --- the page


def sections(text: str) -> dict[str, str]:
    """What a page says of each experiment, by name."""
    _, *parts = re.split(r"^## (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def printed_rows(section: str) -> list[list[str]]:
    """Cells of the rows of a section's table."""
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.removeprefix("| ").split(" | ")] for row in rows[2:]]


def is_rounded(cell: str, value: float) -> bool:
    """Whether a cell shows ``value`` to as many digits as it has."""
    number = cell.rstrip("%")
    digits, _, exponent = number.lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    # A number of more digits than are shown ends in zeros that count for nothing.
    unit = max(unit, 10.0 ** (np.floor(np.log10(abs(value))) - 4) if value else 0.0)
    return abs(float(number) - value) <= 0.5000001 * unit


def differing_rows(section: str, report: ExperimentReport) -> set[str]:
    """Quantities of which a section of the page says another thing than a report, or only one of both."""
    rows = printed_rows(section)
    names = [row[0].replace(r"\|", "|") for row in rows]
    if names != [c.quantity for c in report.comparisons]:
        return set(names) ^ {c.quantity for c in report.comparisons} or set(names)
    differing = set()
    for cells, c in zip(rows, report.comparisons, strict=True):
        _, unit, reference, measured, deviation, _, agrees, *peers = cells
        scale = 1.0 if c.kind == "absolute" else 1.0 / abs(c.reference)
        if deviation.endswith("%"):
            scale *= 100.0
        same = (
            unit == c.unit
            and is_rounded(reference, c.reference)
            and is_rounded(measured, c.measured)
            and is_rounded(deviation, scale * (c.measured - c.reference))
            and agrees.rstrip(" |").strip("*") == c.verdict
            and all(
                is_rounded(cell.rstrip(" |"), c.peers[name]) if name in c.peers else not cell.strip(" |")
                for name, cell in zip(report.peers, peers, strict=True)
            )
        )
        if not same:
            differing.add(c.quantity)
    return differing


def test_the_page_is_what_the_records_give(records):
    assert page(list(records.values()), FOLDER.name) == PAGE


def test_the_page_has_a_section_for_every_experiment_and_no_other():
    assert list(sections(PAGE)) == list(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_rows_of_the_page_are_those_of_the_record(name, records):
    assert differing_rows(sections(PAGE)[name], records[name].report) == set()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_changed_number_on_the_page_is_seen(name, records):
    """The last digit of a reference or of what was measured, row by row; so is a row that is missing or added."""
    report, section = records[name].report, sections(PAGE)[name]
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    for line, comparison in zip(lines, report.comparisons, strict=True):
        for cell in (2, 3):
            cells = line.split(" | ")
            mantissa, e, exponent = cells[cell].partition("e")
            digit = (int(mantissa[-1]) + 1) % 10
            cells[cell] = f"{mantissa[:-1]}{digit}{e}{exponent}"
            assert differing_rows(section.replace(line, " | ".join(cells)), report) == {comparison.quantity}
        assert differing_rows(section.replace(f"{line}\n", ""), report)
        assert differing_rows(section.replace(line, f"{line}\n{line}"), report)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_changed_number_in_a_record_is_seen(name, records):
    record, section = records[name], sections(PAGE)[name]
    rows = record.report.comparisons
    for i, row in enumerate(rows):
        other = replace(row, measured=1.005 * row.measured or 1e-12)
        changed = with_rows(record, (*rows[:i], other, *rows[i + 1 :]))
        assert differing_rows(section, changed.report) == {row.quantity}


def test_rows_say_by_how_much_they_differ_where_they_differ(records):
    for record in records.values():
        for c in record.report.comparisons:
            assert c.quantity.startswith("differs: ") == (c.least > 0.0), c.quantity
            assert c.verdict == ("differs" if c.least else "yes"), c.quantity
            assert c.least == 0.0 or c.least < c.bound or c.paper is not None, c.quantity


def test_a_row_that_comes_to_agree_with_its_paper_is_stale(records):
    differing = [c for record in records.values() for c in record.report.comparisons if c.least]
    assert len(differing) > 25
    for c in differing:
        paper = c.reference if c.paper is None else c.paper
        stale = replace(c, measured=paper)
        assert (stale.verdict, stale.agrees) == ("no longer differs", False), c.quantity


#: Experiments of forces and moments of patches, and of what a margin does.
JUDGED = ("off_centre_box", "patch_moments", "rocking", "flat_landing", "sliding_disk", "margin_boxes")
#: Largest bound, as a multiple of the deviation.
LOOSEST = 3.0


def loose_rows(report: ExperimentReport) -> set[str]:
    """Quantities with bounds that say little: looser than ``LOOSEST``, or such that nothing measured would pass.

    A row may say that its bound is what its paper rounds to.
    """
    loose = set()
    for c in report.comparisons:
        if c.kind not in ("absolute", "relative") or c.quantity.endswith(sliding_disk.ROUNDED):
            continue
        nothing_passes = c.reference != 0.0 and replace(c, measured=0.0).agrees
        if c.bound > LOOSEST * abs(c.deviation) or nothing_passes:
            loose.add(c.quantity)
    return loose


@pytest.mark.parametrize("name", JUDGED)
def test_bounds_are_two_sided_and_no_looser_than_three_times_the_deviation(name, records):
    assert loose_rows(records[name].report) == set()


def test_a_loose_bound_is_seen():
    tight = Comparison("tight", "", 2.0, 2.1, 0.25, "absolute")
    rounded = Comparison(f"ratio, {sliding_disk.ROUNDED}", "", 0.653, 0.653002, 5e-4, "absolute")
    loose = replace(tight, quantity="loose", bound=0.31)
    blind = Comparison("differs: blind", "", 0.35, 0.004, 0.36, "absolute", least=0.2)
    assert loose_rows(ExperimentReport("", "", (tight, rounded, loose, blind))) == {"loose", "differs: blind"}


# --- the curves


def wrong_rows(name: str, report: ExperimentReport) -> set[str]:
    """Quantities of which the curves say another thing than the rows, or that no row has."""
    left: dict[str, list[float]] = {}
    for comparison in report.comparisons:
        left.setdefault(comparison.quantity, []).append(comparison.measured)
    wrong = set()
    for row in rows_of_curves(name, report):
        # Rows of one name come in the same order.
        measured = left[row.quantity].pop(0) if left.get(row.quantity) else np.nan
        if measured != pytest.approx(row.value, rel=row.relative, abs=row.absolute):
            wrong.add(row.quantity)
    return wrong


def test_curves_are_kept_short(records):
    for record in records.values():
        assert record.report.series, record.experiment
        for column in record.report.series.values():
            assert 0 < len(column) <= VALUES
            assert column == [float(f"{value:.{DIGITS}g}") for value in column]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_rows_are_those_of_the_curves(name, records):
    assert rows_of_curves(name, records[name].report)
    assert wrong_rows(name, records[name].report) == set()


def test_most_rows_are_checked_with_the_curves(records):
    rows = sum(len(record.report.comparisons) for record in records.values())
    checked = sum(len(rows_of_curves(name, record.report)) for name, record in records.items())
    assert checked > 0.7 * rows


@pytest.mark.heavy(4)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_row_that_its_curve_does_not_give_is_seen(name, records):
    """By a thousandth, each row that comes from a curve."""
    record = records[name]
    rows = record.report.comparisons
    of_curves = {row.quantity for row in rows_of_curves(name, record.report)}
    for i, row in enumerate(rows):
        if row.quantity in of_curves:
            other = replace(row, measured=1.001 * row.measured or 1e-6)
            changed = with_rows(record, (*rows[:i], other, *rows[i + 1 :]))
            assert wrong_rows(name, changed.report) == {row.quantity}


#: A curve of each experiment that rows come from.
CURVES = {
    "spatula_slip": "pitch",
    "spatula_slip_arm": "grip_force",
    "spatula_release": "pitch, physical inertia",
    "slip_control": "pitch",
    "slip_control_arm": "grip_force",
    "incline": "speed downhill",
    "rolling": "acceleration, sphere",
    "sphere_convergence": "error, compliant sphere, rigid plane",
    "energy": "speed, sliding",
    "fem_layer": "share, wavelength 4",
    "off_centre_box": "tilt",
    "patch_moments": "moment, box on box",
    "rocking": "period of rocking",
    "flat_landing": "change, flat on rigid ground",
    "face_scaling": "triangles",
    "sliding_disk": "ratio of rings",
    "point_contact": "turn, pads of 0.5 mm",
    "ecp_analytic": "point",
    "ecp_desk": "difference of v_x",
    "ecp_t_bar": "speed",
    "margin_boxes": "spread",
    "rigid_pairs": "off its place, hydro-sim",
    "thin_plates": "force",
    "ssdf_isosurface": "radius, sphere",
    "scm_profile": "laws",
    "m16_nut": "moment",
    "planar_push": "distance, 2 ms, RK4, 4k points",
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_changed_curve_is_seen(name, records):
    assert wrong_rows(name, with_curve(records[name].report, CURVES[name], 1.001))


# --- the pictures


def differing_pixels(name: str, report: ExperimentReport, folder: Path) -> float:
    """Share of the kept picture in which one drawn of ``report`` differs."""
    drawn = folder / f"{name}.png"
    EXPERIMENTS[name].plot(report, drawn)
    software = re.compile(rb"Matplotlib version([\d.]+)")
    theirs = software.search((FOLDER / drawn.name).read_bytes())
    assert theirs, name
    if theirs[1].decode() != matplotlib_version:
        pytest.skip(f"the pictures were drawn by matplotlib {theirs[1].decode()}, here is another")
    new, kept = imread(drawn), imread(FOLDER / drawn.name)
    if new.shape != kept.shape:
        return 1.0
    return float((np.abs(new - kept).max(axis=2) > BRIGHTNESS).mean())


def test_every_experiment_has_a_record_and_a_picture_and_nothing_else_is_there():
    expected = {f"{name}.{kind}" for name in EXPERIMENTS for kind in ("json", "png")}
    assert {path.name for path in FOLDER.iterdir()} == expected


@pytest.mark.heavy(4)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_picture_shows_the_record(name, records, tmp_path):
    assert differing_pixels(name, records[name].report, tmp_path) <= PIXELS


@pytest.mark.parametrize("name", ["slip_control", "sphere_convergence"])
def test_a_picture_of_other_curves_is_seen(name, records, tmp_path):
    """By a hundredth."""
    other = with_curve(records[name].report, CURVES[name], 1.01)
    assert differing_pixels(name, other, tmp_path) > 3.0 * PIXELS
