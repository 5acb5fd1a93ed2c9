"""Reports of experiments: measured values compared with reference values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

#: Share from which on it is told in per cent; a smaller one as a power of ten, to be compared with 1e-6, say.
_PER_CENT_FROM = 1e-4
#: Fields of a row that are left out of its plain data where they say nothing.
_OPTIONAL = ("peers", "least", "paper")


@dataclass(frozen=True)
class Comparison:
    """A measured value and its reference value.

    Attributes:
        quantity: Name of the quantity.
        unit: Unit of both values; empty for numbers.
        reference: Reference value.
        measured: Measured value.
        bound: Largest deviation that counts as agreement.
        kind: Whether ``bound`` is in ``unit`` or relative to the reference; ``at_most`` and ``at_least`` are relative
            too, and any measured value on the right side of the reference agrees.
        peers: What other simulators gave in the same run, or ours without what the row is about, by name; shown, not
            judged.
        least: For a row that is said to differ from a paper: the deviation from the paper's value, as the bound is,
            from which on it does. Below it the row is stale. 0 for all other rows.
        paper: The paper's value, where the reference of such a row is another.
    """

    quantity: str
    unit: str
    reference: float
    measured: float
    bound: float
    kind: Literal["absolute", "relative", "at_most", "at_least"]
    peers: dict[str, float] = field(default_factory=dict)
    least: float = 0.0
    paper: float | None = None

    @property
    def deviation(self) -> float:
        """Measured minus reference, in ``unit`` or relative to the reference, as the bound is."""
        return self._deviation_from(self.reference)

    def _deviation_from(self, value: float) -> float:
        difference = self.measured - value
        return difference if self.kind == "absolute" else difference / abs(value)

    @property
    def is_stale(self) -> bool:
        """Whether a row that is said to differ from a paper no longer does."""
        paper = self.reference if self.paper is None else self.paper
        return self.least > 0.0 and abs(self._deviation_from(paper)) <= self.least

    @property
    def agrees(self) -> bool:
        """Whether the deviation is within the bound, and the row not stale; never for NaN."""
        wrong_side = {"at_most": 1.0, "at_least": -1.0}.get(self.kind)
        excess = abs(self.deviation) if wrong_side is None else wrong_side * self.deviation
        return bool(math.isfinite(self.measured) and excess <= self.bound and not self.is_stale)

    @property
    def verdict(self) -> str:
        """What the row says: "yes", "no", "differs" where it is said to, and "no longer differs"."""
        if self.is_stale:
            return "no longer differs"
        if not self.agrees:
            return "no"
        return "differs" if self.least > 0.0 else "yes"

    @property
    def deviation_text(self) -> str:
        """The deviation as text for a table."""
        if self.kind == "absolute":
            return f"{self.deviation:+.3g}"
        is_small = 0.0 < abs(self.deviation) < _PER_CENT_FROM
        return f"{self.deviation:+.2e}" if is_small else f"{self.deviation:+.3%}"

    @property
    def bound_text(self) -> str:
        """The bound as text for a table."""
        bound = self._text_of_bound(self.bound)
        if self.least > 0.0 and self.paper is None:
            return f"{self._text_of_bound(self.least)} to {bound}"
        side = {"at_most": "at most", "at_least": "at least"}.get(self.kind)
        if side is None:
            return bound
        return f"{side}, within {bound}" if self.bound else side

    def _text_of_bound(self, bound: float) -> str:
        if self.kind == "absolute" or 0.0 < bound < _PER_CENT_FROM:
            return f"{bound:g}"
        return f"{100.0 * bound:.3g}%"


@dataclass(frozen=True)
class ExperimentReport:
    """Outcome of an experiment.

    Attributes:
        title: Title of the experiment.
        source: Source of the reference values.
        comparisons: Comparisons.
        series: Named columns, for plots and further analysis; those of one study have equal length.
    """

    title: str
    source: str
    comparisons: tuple[Comparison, ...]
    series: dict[str, list[float]] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether every comparison agrees."""
        return all(comparison.agrees for comparison in self.comparisons)

    @property
    def peers(self) -> list[str]:
        """Names of what stands beside rows."""
        return list(dict.fromkeys(name for c in self.comparisons for name in c.peers))

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        comparisons = [
            {**_without_nothing(asdict(c)), "deviation": c.deviation, "agrees": c.agrees}
            for c in self.comparisons
        ]
        return {**asdict(self), "comparisons": comparisons, "agrees": self.agrees}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ExperimentReport:
        """Make a report from data with the fields of ``as_dict``.

        Raises:
            KeyError: A field is missing.
        """
        needed = [column.name for column in fields(Comparison) if column.name not in _OPTIONAL]
        comparisons = tuple(
            Comparison(**{name: row[name] for name in (*needed, *(n for n in _OPTIONAL if n in row))})
            for row in data["comparisons"]
        )
        return cls(data["title"], data["source"], comparisons, data["series"])


def _without_nothing(row: dict[str, Any]) -> dict[str, Any]:
    """Without fields that only some rows have, where this one has not."""
    return {
        name: value
        for name, value in row.items()
        if name not in _OPTIONAL or (value is not None if name == "paper" else value)
    }
