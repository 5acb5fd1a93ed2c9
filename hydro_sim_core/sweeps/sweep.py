"""A sweep: its samples over processes or a cluster, kept as they are done, and the table at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hydro_sim_core.errors import InputError
from hydro_sim_core.sweeps.cluster import completed_on_cluster
from hydro_sim_core.sweeps.journal import Journal, rows_of_table
from hydro_sim_core.sweeps.plan import Plan, columns_of
from hydro_sim_core.sweeps.samples import ERROR, Row, Sampler
from hydro_sim_core.sweeps.table import require_duckdb, write_table
from hydro_sim_core.workers import Lost, completed


class Sweep:
    """All samples of a plan, and what is measured of each.

    Args:
        plan: The samples.
        sampler: What makes their rows.
        table: Parquet file that is written at the end.
        replace: Whether what is done of another unfinished sweep is forgotten.

    Attributes:
        journal: Rows that are done.

    Raises:
        InputError: A path, a value or a measure is wrong for the first sample, a value of the grid for a task, or the
            files cannot be written.
    """

    def __init__(self, plan: Plan, sampler: Sampler, table: Path, replace: bool = False) -> None:
        require_duckdb()
        self._plan, self._sampler, self._table = plan, sampler, table
        self._samples = plan.samples()
        _check_names(["sample", *(axis.path for axis in plan.axes), *sampler.measures, ERROR])
        for values in plan.each_value(self._samples):
            sampler.check_values(values)
        sampler.check(self._samples[0])
        self._told = {"hydro_sim": version("hydro-sim-core"), **sampler.told(), **plan.told()}
        self.journal = Journal(table, self._told, plan.count, replace)

    def run(
        self, jobs: int, ray: str | None = None, done: Callable[[int], None] = lambda index: None
    ) -> None:
        """Work on what is not done yet.

        Args:
            jobs: Largest number of processes.
            ray: Address of a Ray cluster that does it instead.
            done: Called with the number of each sample as it is done.

        Raises:
            InputError: The cluster cannot be used, or the journal cannot be written.
        """
        left = [index for index in range(self._plan.count) if index not in self.journal.rows]
        for position, result in self._results([self._samples[index] for index in left], jobs, ray):
            row: Row = self._sampler.failed(str(result)) if isinstance(result, Lost) else result
            self.journal.add(left[position], row)
            done(left[position])

    def _results(
        self, samples: list[dict[str, Any]], jobs: int, ray: str | None
    ) -> Iterator[tuple[int, Any]]:
        if ray is not None:
            return completed_on_cluster(self._sampler, samples, ray)
        return completed(self._sampler, samples, jobs)

    def columns(self) -> dict[str, list[Any]]:
        """Columns of the samples that are done."""
        return columns_of(rows_of_table(self._plan, self.journal.rows))

    def finish(self) -> dict[str, list[Any]]:
        """Write the table, remove the journal, and return the columns.

        Raises:
            InputError: The table cannot be written; the journal stays.
        """
        columns = self.columns()
        write_table(self._table, columns, self._told, texts=[ERROR])
        self.journal.remove()
        return columns


def _check_names(names: Sequence[str]) -> None:
    """Refuse columns whose names programs that read tables may not tell apart."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise InputError("sweep", name, "is the name of two columns", "measure and vary each thing once")
        seen.add(name.casefold())
