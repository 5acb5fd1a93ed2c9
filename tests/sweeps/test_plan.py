"""What is varied, and which samples follow from it."""

import math

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.sweeps.axes import parse_axes, parse_axis
from hydro_sim_core.sweeps.plan import Plan


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=0:1:5", (0.0, 0.25, 0.5, 0.75, 1.0)),
        ("a=-0.5:0.5:3", (-0.5, 0.0, 0.5)),
        ("a=0:4:5", (0, 1, 2, 3, 4)),
        ("a=4:0:3", (4, 2, 0)),
        ("a=0:1:3", (0.0, 0.5, 1.0)),
        ("a=3:9:1", (3,)),
        ("a=log(1e3:1e6:4)", (1e3, 1e4, 1e5, 1e6)),
        ("a=sap,lagged", ("sap", "lagged")),
        ("a= 0.2 , true", (0.2, True)),
        ("a=[0, 1, 2],[3, 4, 5]", ([0, 1, 2], [3, 4, 5])),
        ("models.a.b=7", (7,)),
    ],
)
def test_ranges_of_a_grid(text, values):
    axis = parse_axis(text)
    assert axis.values == pytest.approx(values, rel=1e-15) if "log" in text else axis.values == values
    assert [type(value) for value in axis.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a", "is not PATH=RANGE"),
        ("=1", "is not PATH=RANGE"),
        ("a=", "is not PATH=RANGE"),
        ("a=0:1:0", "0 values cannot be"),
        ("a=0:1:1e9", "1000000000.0 values cannot be"),
        ("a=0:1:2.5", "2.5 values cannot be"),
        ("a=0:x:3", "'x' is no finite number"),
        ("a=0:.inf:3", "'.inf' is no finite number"),
        ("a=0:true:3", "'true' is no finite number"),
        (f"a=uniform(0,1{400 * '0'})", "is no finite number"),
        ("a=log(0:1:3)", "begins and ends above 0"),
        ("a=0.1:0.9", "'0.1:0.9' is no range; write a:b:n"),
        ("a=0:1:5:2", "is no range"),
        ("a=log(1,2)", "is no range"),
        ("a=norml(0,1)", "did you mean 'normal'?"),
        ("a=normal(0)", "takes two numbers"),
        ("a=normal(0,-1)", "standard deviation of -1"),
        ("a=uniform(1,1)", "has no values"),
        ("a=loguniform(0,1)", "has no values"),
        ("a=[1", "is no range"),
        ("a={", "is no range"),
    ],
)
def test_what_is_no_range_is_told(text, told):
    with pytest.raises(InputError) as caught:
        parse_axis(text)
    assert told in str(caught.value)


def test_a_path_has_one_range_and_something_is_varied():
    with pytest.raises(InputError, match="is varied twice"):
        parse_axes(["a=1", "b=2", "a=3"])
    with pytest.raises(InputError, match="nothing is varied"):
        parse_axes([])


def plan(*texts, **options):
    return Plan(parse_axes(texts), **options)


def test_a_grid_has_every_combination_in_the_order_of_its_axes():
    samples = plan("a=1,2", "b=x,y").samples()
    assert samples == [{"a": a, "b": b} for a in (1, 2) for b in ("x", "y")]


def test_every_point_of_the_grid_has_the_same_draws():
    made = plan("a=1,2,3", "b=uniform(0,1)", "c=normal(0,1)", draws=4, seed=7)
    samples = made.samples()
    assert len(samples) == made.count == 12
    draws = [[(one["b"], one["c"]) for one in samples[k : k + 4]] for k in (0, 4, 8)]
    assert draws[0] == draws[1] == draws[2]
    assert len(set(draws[0])) == 4
    assert made.samples() == samples
    assert (
        plan("b=uniform(0,1)", draws=4, seed=8).samples() != plan("b=uniform(0,1)", draws=4, seed=7).samples()
    )


@pytest.mark.parametrize(
    ("text", "cumulative"),
    [
        ("x=uniform(-2,3)", lambda x: (x + 2.0) / 5.0),
        ("x=loguniform(1e2,1e5)", lambda x: np.log(x / 1e2) / math.log(1e3)),
        (
            "x=normal(1,0.5)",
            lambda x: np.array([0.5 * math.erfc((1.0 - v) / 0.5 / math.sqrt(2.0)) for v in x]),
        ),
    ],
)
def test_a_latin_hypercube_has_one_draw_in_every_equal_share(text, cumulative):
    """By the distribution's function in closed form; plain draws leave some shares without one."""
    count = 50
    for sampling, is_even in (("latin", True), ("random", False)):
        samples = plan(text, "y=uniform(0,1)", draws=count, sampling=sampling).samples()
        shares = cumulative(np.array([one["x"] for one in samples]))
        assert np.all((shares > 0.0) & (shares < 1.0))
        found = set(np.floor(count * shares).astype(int).tolist())
        assert (found == set(range(count))) is is_even


def test_sweeps_without_end_or_meaning_are_refused():
    with pytest.raises(InputError, match="of 1000000000 samples is too large"):
        plan("a=0:1:1000", "b=0:1:1000", "c=0:1:1000")
    with pytest.raises(InputError, match="nothing is drawn"):
        plan("a=0:1:3", draws=2)
