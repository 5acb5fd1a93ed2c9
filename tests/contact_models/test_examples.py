"""The program that measures for the page on contact models; tests/docs runs the page itself."""

from support.contact_models import measure
from support.contact_models.convex import needs_coal


@needs_coal
def test_what_the_page_says_of_accuracy_is_measured():
    point, patch = measure.rock_a_cube(1e-6)
    assert point > 0.1
    assert patch < 1e-5
    times, lowest = measure.throw_blocks(throws=2)
    assert len(times) > 10
    assert lowest > -1e-12
    assert len(measure.time_calls(repeat=1)) == 5
