"""Letters made of straight strokes, for words that lie in a plane of a 3-D view."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Polylines of each letter, drawn for this project: two digits a point, x from 0 to 4, y from 0 to 8; baseline 2,
#: small letters end at 6, capitals and digits at 8.
_LETTERS: Final = {
    " ": "",
    ",": "23 11",
    ".": "22 23",
    "+": "05 45, 23 27",
    "-": "05 45",
    "0": "18 07 03 12 32 43 47 38 18",
    "1": "07 28 22, 02 42",
    "2": "07 18 38 47 46 02 42",
    "3": "07 18 38 47 46 35 15, 35 44 43 32 12 03",
    "4": "32 38 04 44",
    "5": "48 08 05 35 44 43 32 12 03",
    "6": "47 38 18 07 03 12 32 43 44 35 15 04",
    "7": "08 48 12",
    "8": "18 07 06 15 35 46 47 38 18, 15 04 03 12 32 43 44 35",
    "9": "03 12 32 43 47 38 18 07 06 15 35 46",
    "M": "02 08 25 48 42",
    "P": "02 08 38 47 46 35 05",
    "a": "16 36 45 42, 44 14 03 12 32 43",
    "c": "45 36 16 05 03 12 32 43",
    "e": "04 44 45 36 16 05 03 12 32 43",
    "k": "02 08, 46 04 42",
    "n": "02 06, 05 16 36 45 42",
    "o": "16 05 03 12 32 43 45 36 16",
    "p": "00 06, 05 16 36 45 43 32 12 03",
    "r": "02 06, 04 26 36 45",
    "s": "45 36 16 05 14 34 43 32 12 03",
    "t": "18 13 22 32, 06 36",
    "u": "06 03 12 32 43, 46 42",
}
_BASELINE, _CAPITAL, _ADVANCE, _GAP = 2.0, 6.0, 6.0, 2.0


def text_width(text: str) -> float:
    """Width of a line of text, in heights of a capital."""
    return max(_ADVANCE * len(text) - _GAP, 0.0) / _CAPITAL


def text_strokes(text: str) -> Array:
    """Strokes (N, 2, 2) of a line of text: start and end in x and y, in heights of a capital from the baseline's start.

    Raises:
        KeyError: A letter has not been drawn yet.
    """
    strokes = []
    for place, letter in enumerate(text):
        for line in filter(None, _LETTERS[letter].split(", ")):
            points = np.array([[float(digit) for digit in point] for point in line.split()])
            points += (_ADVANCE * place, -_BASELINE)
            strokes.append(np.stack([points[:-1], points[1:]], axis=1))
    return np.concatenate(strokes) / _CAPITAL if strokes else np.zeros((0, 2, 2))
