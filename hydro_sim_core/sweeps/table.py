"""The table of a sweep, a Parquet file, written by DuckDB: an optional dependency."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hydro_sim_core.errors import InputError


def require_duckdb() -> None:
    """Check that DuckDB is installed, before anything is computed for a table.

    Raises:
        InputError: It is not.
    """
    if find_spec("duckdb") is None:
        raise InputError(
            "sweep", "duckdb", "is not installed", "install it: pip install 'hydro-sim-core[sweep]'"
        )


def write_table(
    path: Path, columns: Mapping[str, Sequence[Any]], about: Mapping[str, Any], texts: Collection[str] = ()
) -> None:
    """Write a Parquet file, whole or not at all.

    Args:
        path: The file.
        columns: Values by name, all equally many; None where there is none. Whole numbers, numbers and truths keep
            their type; a column that mixes others holds them as JSON.
        about: What the table is, kept in the file's metadata as JSON under ``hydro_sim``.
        texts: Names of columns that hold text, also where they are empty.

    Raises:
        InputError: DuckDB is not installed, or the file cannot be written.
    """
    require_duckdb()
    import duckdb

    types = {name: "VARCHAR" if name in texts else _type(values) for name, values in columns.items()}
    cells = [[_cell(value, types[name]) for value in values] for name, values in columns.items()]
    fields = ", ".join(f"{_quoted(name)} {kind}" for name, kind in types.items())
    marks = ", ".join("?" * len(types))
    try:
        with (
            TemporaryDirectory(prefix=".sweep-", dir=path.parent) as folder,
            duckdb.connect(config=_SETTINGS) as base,
        ):
            whole = Path(folder) / "table.parquet"
            base.execute(f"CREATE TABLE sweep ({fields})")
            base.execute("BEGIN")
            base.executemany(f"INSERT INTO sweep VALUES ({marks})", list(zip(*cells, strict=True)))
            base.execute("COMMIT")
            told = f"hydro_sim: {_text(json.dumps(about))}"
            base.execute(f"COPY sweep TO {_text(str(whole))} (FORMAT parquet, KV_METADATA {{{told}}})")
            os.replace(whole, path)
    except (OSError, duckdb.Error) as error:
        raise InputError(path, "", f"cannot be written ({error})", "give another file") from None


#: One thread writes the rows in their order; nothing is fetched from a network.
_SETTINGS: dict[str, Any] = {
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def _type(values: Sequence[Any]) -> str:
    """SQL's name of the narrowest type that holds all values."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int} and all(abs(value) < 2**63 for value in values if value is not None):
        return "BIGINT"
    return "DOUBLE" if kinds <= {int, float} else "VARCHAR"


def _cell(value: Any, kind: str) -> Any:
    if value is None or kind in ("BOOLEAN", "BIGINT"):
        return value
    if kind == "DOUBLE":
        return float(value)
    return value if isinstance(value, str) else json.dumps(value)


def _quoted(name: str) -> str:
    """A name of a column."""
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    """A string of SQL."""
    return "'" + text.replace("'", "''") + "'"
