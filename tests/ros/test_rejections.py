"""Counting of refused messages: by kind, however they are spelled, and never without bound."""

from types import SimpleNamespace

from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError


def _refused(problems):
    warnings = []
    rejections = Rejections(SimpleNamespace(warning=warnings.append))
    for problem in problems:
        with rejections.guard("/topic"):
            raise InputError("message", "field", problem, "mend it")
    return rejections, warnings


def test_names_and_numbers_make_no_kinds():
    rejections, warnings = _refused([f"'{name}' is {value}" for name in "abc" for value in (1.5, -2e3)])
    assert rejections.counts == {"/topic: … is …": 6}
    assert len(warnings) == 1


def test_hostile_texts_are_counted_together_after_a_while():
    """A quote within a quoted name ends up in the kind; memory, log and diagnostics stay bounded."""
    rejections, warnings = _refused([f"'a'{'x' * i}'b' is unknown" for i in range(500)])
    assert rejections.total == 500
    assert len(rejections.counts) <= 101
    assert len(warnings) <= 101
    assert rejections.counts["other reasons"] == 400
