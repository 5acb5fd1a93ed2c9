"""What an experiment found: measured values beside reference values, each with a bound and a source."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal


@dataclass(frozen=True)
class Comparison:
    """One measured value beside what it should be.

    Attributes:
        quantity: What is compared.
        unit: Unit of both values; empty for numbers.
        reference: What it should be.
        measured: What it is.
        bound: Largest deviation that agrees.
        kind: Whether ``bound`` is in ``unit`` or relative to the reference; ``at_most`` and ``at_least`` are relative
            too, and any measured value on the right side of the reference agrees.
    """

    quantity: str
    unit: str
    reference: float
    measured: float
    bound: float
    kind: Literal["absolute", "relative", "at_most", "at_least"]

    @property
    def deviation(self) -> float:
        """Measured minus reference, in ``unit`` or relative to the reference, as the bound is."""
        difference = self.measured - self.reference
        return difference if self.kind == "absolute" else difference / abs(self.reference)

    @property
    def agrees(self) -> bool:
        """Whether the deviation is within the bound; never for NaN."""
        wrong_side = {"at_most": 1.0, "at_least": -1.0}.get(self.kind)
        excess = abs(self.deviation) if wrong_side is None else wrong_side * self.deviation
        return bool(math.isfinite(self.measured) and excess <= self.bound)

    @property
    def deviation_text(self) -> str:
        """The deviation as a table shows it."""
        return f"{self.deviation:+.3g}" if self.kind == "absolute" else f"{self.deviation:+.3%}"

    @property
    def bound_text(self) -> str:
        """The bound as a table shows it."""
        bound = f"{self.bound:g}" if self.kind == "absolute" else f"{100.0 * self.bound:.3g}%"
        side = {"at_most": "at most", "at_least": "at least"}.get(self.kind)
        if side is None:
            return bound
        return f"{side}, within {bound}" if self.bound else side


@dataclass(frozen=True)
class ExperimentReport:
    """Outcome of an experiment.

    Attributes:
        title: What was run.
        source: Where the reference values come from.
        comparisons: What was compared.
        series: Named columns, for plots and further study; those of one study are of equal length.
    """

    title: str
    source: str
    comparisons: tuple[Comparison, ...]
    series: dict[str, list[float]] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether every comparison agrees."""
        return all(comparison.agrees for comparison in self.comparisons)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        comparisons = [{**asdict(c), "deviation": c.deviation, "agrees": c.agrees} for c in self.comparisons]
        return {**asdict(self), "comparisons": comparisons, "agrees": self.agrees}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ExperimentReport:
        """The report whose ``as_dict`` is among ``data``.

        Raises:
            KeyError: Something is missing.
        """
        names = [column.name for column in fields(Comparison)]
        comparisons = tuple(Comparison(**{name: row[name] for name in names}) for row in data["comparisons"])
        return cls(data["title"], data["source"], comparisons, data["series"])
