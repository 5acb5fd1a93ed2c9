"""One scale of colours: fixed, the same as matplotlib's, and readable by those who see fewer colours."""

import numpy as np
import pytest
from matplotlib import colormaps

from hydro_sim_core import InputError
from hydro_sim_core.drawing.pressure_scale import PressureScale

#: What is left of linear RGB without one kind of cone (Machado 2009, table 1, severity 1).
SIGHT = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
#: Linear sRGB to XYZ over its white point D65 (IEC 61966-2-1).
RGB_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
RGB_TO_XYZ /= RGB_TO_XYZ.sum(axis=1, keepdims=True)


def lab(srgb, sight):
    """CIELAB (N, 3) of sRGB colours (N, 3), 0 to 1, as someone sees them."""
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(linear @ sight.T, 0.0, 1.0) @ RGB_TO_XYZ.T
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def test_is_matplotlibs_map():
    scale = PressureScale()
    theirs = colormaps[scale.name]
    assert np.abs(scale.table() / 255.0 - theirs.colors).max() <= 1 / 255
    at = np.linspace(0.0, 1.0, 1000)
    assert np.abs(scale.colours(at * scale.maximum) - theirs(at)).max() <= 1 / 255


def test_is_fixed_and_saturates():
    """The same pressure has the same colour whatever else there is; the ends hold beyond the scale."""
    scale = PressureScale(20e3)
    alone, among = scale.colours(np.array([5e3])), scale.colours(np.array([0.0, 5e3, 1e6]))
    assert np.array_equal(alone[0], among[1])
    assert np.array_equal(among[2], scale.colours(np.array([20e3]))[0])
    assert np.array_equal(scale.colours(np.array([-1.0])), scale.colours(np.array([0.0])))
    assert np.array_equal(PressureScale(40e3).colours(np.array([10e3])), alone)


@pytest.mark.parametrize("sight", SIGHT)
def test_grows_lighter_in_every_sight(sight):
    """Lightness rises all along, so the scale also reads in grey, and a tenth of it is told from the next.

    The difference is at least twice what is just noticeable: 2.3 in CIELAB (Mahy 1994).
    """
    colours = lab(PressureScale(1.0).colours(np.linspace(0.0, 1.0, 11))[:, :3].astype(float), SIGHT[sight])
    assert np.all(np.diff(colours[:, 0]) > 2.3)
    assert np.linalg.norm(np.diff(colours, axis=0), axis=1).min() > 2 * 2.3


@pytest.mark.parametrize("maximum", [0.0, -1.0, float("nan"), float("inf"), 1e-4, 1e13])
def test_scale_without_an_end_is_refused(maximum):
    with pytest.raises(InputError, match=r"Pa at the upper end is not 0.001 to 1e\+12; try 20000"):
        PressureScale(maximum)
