"""The page shows every record, says what disagrees, and refuses files that are no records."""

from __future__ import annotations

import json
from dataclasses import replace
from unittest import mock

import pytest

from hydro_sim_core.assets import folder
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments import EXPERIMENTS, Comparison, Experiment, ExperimentReport
from hydro_sim_core.experiments.page import Record, page, read_records

GOOD = Comparison("force |F|", "N", 2.0, 2.002, 0.01, "relative")
WRONG = Comparison("depth", "mm", 1.0, 1.5, 0.1, "absolute")
SMALL = Comparison("tilt", "rad", 2e-8, 2e-8 * (1.0 + 3.4e-7), 4e-7, "relative")
ONE_SIDED = Comparison("lift", "", 1e-3, 1e-5, 0.0, "at_most")


def record(name: str, *comparisons: Comparison) -> Record:
    report = ExperimentReport(f"Title of {name}", "a closed form", comparisons, {"t": [0.0, 1.0]})
    return Record(name, "2026-01-02", {"numpy": "2.0"}, False, 17.09, "a processor, 2 cores", report)


@pytest.fixture
def two_experiments():
    """Nothing is registered but two experiments of this module; afterwards all others are there in their order."""
    with mock.patch.dict(EXPERIMENTS, clear=True):
        for name, comparisons in (("first", (GOOD, ONE_SIDED)), ("second", (WRONG,))):
            report = record(name, *comparisons).report
            EXPERIMENTS[name] = Experiment(
                f"Summary of {name}.", lambda _, r=report: r, lambda _, path: path.write_bytes(b"")
            )
        yield


def write(folder, *records):
    for one in records:
        (folder / f"{one.experiment}.json").write_text(json.dumps(one.as_dict()))


def test_a_record_survives_its_file(two_experiments, tmp_path):
    records = [record("first", GOOD, ONE_SIDED), record("second", WRONG)]
    write(tmp_path, *records)
    assert read_records(tmp_path) == records


def test_a_record_keeps_the_ends_of_long_series_and_what_belongs_together():
    """A curve of 1000 points is kept as at most 400, the same ones of each column."""
    first = record("first", GOOD)
    time = [0.001 * i for i in range(1000)]
    series = {"time": time, "height": [1.0 - t * t for t in time], "size": [1.0, 2.0], "none": []}
    kept = replace(first, report=replace(first.report, series=series)).as_dict()["series"]
    assert 200 < len(kept["time"]) <= 400
    assert (kept["time"][0], kept["time"][-1]) == (0.0, 0.999)
    assert kept["height"] == pytest.approx([1.0 - t * t for t in kept["time"]], abs=1e-5)
    assert (kept["size"], kept["none"]) == ([1.0, 2.0], [])


def test_the_page_holds_every_number_and_what_disagrees(two_experiments):
    text = page([record("first", GOOD, ONE_SIDED), record("second", WRONG)], "pictures")
    assert "2 of 3 comparisons agree" in text
    assert r"| force \|F\| | N | 2 | 2.002 | +0.100% | 1% | yes |" in text
    assert "| lift |  | 0.001 | 1e-05 | -99.000% | at most | yes |" in text
    assert "| depth | mm | 1 | 1.5 | +0.5 | 0.1 | **no** |" in text
    assert "![Title of first](pictures/first.png)" in text
    assert "| [second](#second) | Summary of second. | about 17 s | 1 | **no** |" in text
    assert "hydro-sim validate second" in text
    assert "2026-01-02, about 17 s on a processor, 2 cores; numpy 2.0." in text


def test_small_shares_are_told_in_powers_of_ten(two_experiments):
    """Not as 0.000 %, which cannot be compared with a bound of 1e-6."""
    text = page([record("first", SMALL), record("second", GOOD)], "pictures")
    assert "| tilt | rad | 2e-08 | 2e-08 | +3.40e-07 | 4e-07 | yes |" in text
    assert replace(SMALL, measured=SMALL.reference).deviation_text == "+0.000%"
    assert replace(SMALL, measured=SMALL.reference * (1.0 - 9e-5)).deviation_text == "-9.00e-05"
    assert (
        replace(SMALL, measured=SMALL.reference * 1.0002, bound=2e-4, least=5e-5).deviation_text == "+0.020%"
    )
    assert replace(SMALL, bound=2e-4, least=5e-5).bound_text == "5e-05 to 0.02%"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.1, "under 1 s"), (1.4, "about 1 s"), (100.2, "about 100 s"), (290.0, "about 5 min")],
)
def test_a_record_tells_its_time_roughly(seconds, told):
    assert replace(record("first"), seconds=seconds).about == told


def test_every_experiment_has_a_record_of_its_full_form_with_its_time():
    """What ``hydro-sim validate`` lists comes from the files that ship with the package."""
    for one in read_records(folder("validation")):
        assert not one.quick, one.experiment
        assert one.seconds > 0.0, one.experiment
        assert "cores" in one.machine, one.experiment


def test_variants_share_one_description(two_experiments):
    """Both are drawn by functions of this module, whose documentation describes them."""
    text = page([record("first", GOOD), record("second", GOOD)], "pictures")
    assert text.count(__doc__) == 1
    assert text.index(__doc__) < text.index("## second")


def test_a_quick_record_names_the_quick_command(two_experiments):
    assert "validate first --quick\n" in page([replace(record("first", GOOD), quick=True)], "pictures")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"experiment": "second"}', "null"])
def test_a_file_that_is_no_record_is_refused(two_experiments, tmp_path, content):
    write(tmp_path, record("first", GOOD))
    (tmp_path / "second.json").write_text(content)
    with pytest.raises(InputError, match=r"second\.json: is no record of an experiment; write it anew"):
        read_records(tmp_path)


def test_missing_and_foreign_files_are_refused(two_experiments, tmp_path):
    write(tmp_path, record("first", GOOD))
    with pytest.raises(InputError, match=r"second\.json: No such file"):
        read_records(tmp_path)
    write(tmp_path, record("second", GOOD))
    (tmp_path / "third.json").write_text("{}")
    with pytest.raises(InputError, match=r"third\.json: is of no experiment; remove it"):
        read_records(tmp_path)


def test_a_row_that_is_said_to_differ_fails_when_it_no_longer_does():
    differs = Comparison("differs: onset", "", 3.0, 9.0, 3.0, "relative", least=0.5)
    assert (differs.verdict, differs.agrees, differs.bound_text) == ("differs", True, "50% to 300%")
    stale = replace(differs, measured=3.3)
    assert (stale.verdict, stale.agrees) == ("no longer differs", False)
    too_far = replace(differs, measured=13.0)
    assert (too_far.verdict, too_far.agrees) == ("no", False)


def test_a_row_with_a_reference_of_its_own_is_stale_at_the_value_of_the_paper():
    slope = Comparison("differs: slope", "N/m", -8.0, -8.01, 0.01, "relative", least=1.0, paper=8.0)
    assert (slope.verdict, slope.bound_text) == ("differs", "1%")
    assert replace(slope, reference=7.9, measured=7.95, bound=0.1).verdict == "no longer differs"
    survived = ExperimentReport.from_dict(json.loads(json.dumps(record("first", slope).report.as_dict())))
    assert survived.comparisons == (slope,)


def test_a_stale_row_shows_on_the_page(two_experiments):
    stale = Comparison("differs: onset", "", 3.0, 3.3, 3.0, "relative", least=0.5)
    text = page([record("first", GOOD), record("second", stale)], "pictures")
    assert "**no longer differs**" in text
    assert "1 of 2 comparisons agree" in text
    kept = replace(stale, measured=9.0)
    assert "1 more differ" in page([record("first", GOOD), record("second", kept)], "pictures")
