"""The estimated force error of patches beside the true one, from a handful of faces to thousands.

The true error is against the shapes that the meshes stand for: closed forms, quadratures, or forces of two finer meshes
continued to edges of no length. Boxes are exact in any mesh, and their patches must not be called coarse.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import output_argument, write
from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from hydro_sim_core.contact import ContactPatch, compute_patch
from hydro_sim_core.contact.quality import patch_quality
from support.contact.resolution_cases import (
    BLIND,
    MODULUS,
    ORIENTATIONS,
    RADIUS,
    SMOOTH,
    Case,
    box_pair,
    pose,
    sphere,
)

#: Lengths of edges, m.
RESOLUTIONS = (0.15, 0.08, 0.04, 0.02, 0.01, 0.005)
BOX_POSES = 20
BOX_SPLITS = 3
REPEATS = 20


def rows_of(cases: dict[str, Case]) -> list[dict[str, Any]]:
    """Every case at every resolution, over several orientations."""
    rows = []
    for name, case in cases.items():
        for resolution in RESOLUTIONS:
            row = _row(name, case, resolution)
            if row is not None:
                rows.append(row)
    return rows


def _row(name: str, case: Case, resolution: float) -> dict[str, Any] | None:
    """None where no orientation of so coarse a mesh touches."""
    touching = [
        (patch, rotation)
        for rotation in ORIENTATIONS
        if (patch := case.patch(resolution, rotation)).num_faces > 0
    ]
    if not touching:
        return None
    true = np.array([case.error(patch, rotation) for patch, rotation in touching])
    qualities = [patch.quality for patch, _ in touching]
    estimated = np.array([quality.force_error for quality in qualities])
    return {
        "case": name,
        "edge": resolution,
        "faces": float(np.mean([quality.num_faces for quality in qualities])),
        "face_size_ratio": float(np.mean([quality.face_size_ratio for quality in qualities])),
        "true_error": float(true.mean()),
        "estimated_error": float(estimated.mean()),
        "smallest_ratio": float((estimated / true).min()),
        "largest_ratio": float((estimated / true).max()),
    }


def box_rows() -> list[dict[str, Any]]:
    """Boxes in random poses, their tetrahedra cut in eight again and again."""
    rows = []
    for partner in ("compliant box", "rigid box", "rigid ground"):
        for splits in range(BOX_SPLITS + 1):
            patches = [compute_patch(*box_pair(partner, seed, splits)) for seed in range(BOX_POSES)]
            whole = [compute_patch(*box_pair(partner, seed)) for seed in range(BOX_POSES)]
            differences = [_difference(p, q) for p, q in zip(patches, whole, strict=True) if q.num_faces]
            rows.append(
                {
                    "case": f"box, {partner}",
                    "splits": splits,
                    "faces": float(np.mean([patch.quality.num_faces for patch in patches])),
                    "true_error": float(max(differences)),
                    "estimated_error": max(patch.quality.force_error for patch in patches),
                }
            )
    return rows


def _difference(patch: ContactPatch, whole: ContactPatch) -> float:
    return float(np.linalg.norm(patch.force_on_b - whole.force_on_b) / np.linalg.norm(whole.force_on_b))


def cost_rows() -> list[dict[str, Any]]:
    """Time an estimate takes, best of several."""
    rows = []
    for resolution in (0.04, 0.02, 0.01, 0.005):
        ball = sphere(RADIUS, resolution=resolution, modulus=MODULUS)
        patch = compute_patch(ball, pose(), ball, pose([0.003, 0.002, 1.7 * RADIUS]))
        times = []
        for _ in range(REPEATS):
            began = time.thread_time()
            patch_quality(patch.faces)
            times.append(time.thread_time() - began)
        rows.append({"faces": patch.num_faces, "ms": 1e3 * min(times)})
    return rows


def _print(console: Console, title: str, rows: list[dict[str, Any]]) -> None:
    table = Table(title=title, caption="ratio: estimated over true error, over the orientations")
    for heading in ("case", "edge, mm", "faces", "face / patch", "true", "estimated", "ratio"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for row in rows:
        errors = (f"{100 * row[key]:.3g} %" for key in ("true_error", "estimated_error"))
        ratio = f"{row['smallest_ratio']:.2f} to {row['largest_ratio']:.2f}"
        numbers = (f"{1e3 * row['edge']:g}", f"{row['faces']:.0f}", f"{row['face_size_ratio']:.3f}")
        table.add_row(row["case"], *numbers, *errors, ratio)
    console.print(table)


def _print_boxes(console: Console, rows: list[dict[str, Any]]) -> None:
    table = Table(title=f"boxes in {BOX_POSES} random poses", caption="largest error of the poses")
    for heading in ("case", "cut in eight", "faces", "true", "estimated"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for row in rows:
        errors = (f"{row[key]:.1e}" for key in ("true_error", "estimated_error"))
        table.add_row(row["case"], f"{row['splits']} times", f"{row['faces']:.0f}", *errors)
    console.print(table)


def main() -> None:
    """Measure, print the tables, write the results."""
    output = output_argument(__doc__.splitlines()[0], "patch_quality")
    smooth, blind, boxes, cost = rows_of(SMOOTH), rows_of(BLIND), box_rows(), cost_rows()
    console = Console(width=112)
    _print(console, "smooth shapes", smooth)
    _print(console, "errors that the faces do not show", blind)
    _print_boxes(console, boxes)
    console.print("cost: " + ", ".join(f"{row['ms']:.2f} ms for {row['faces']} faces" for row in cost))
    write(output, {"smooth": smooth, "blind": blind, "boxes": boxes, "cost": cost})


if __name__ == "__main__":
    main()
