"""A whole step of an arm whose two Soft-bubble fingers squeeze a cylinder, ours against Drake's, by contact faces.

Drake answers with its default approximation, with SAP, and with its convex integrator at the same fixed step, its
fastest. Turns of 0.25 s at 1 kHz; CPU time of the one thread that steps.
"""

from __future__ import annotations

from contest import OURS, as_rows, compete, contest_table, drake, ours, share_of_best
from drake_scene import CONVEX_INTEGRATOR
from measure import output_argument, write
from rich.console import Console

from hydro_sim_core.experiments.cylinder_grasp import MESHES, SCENE, grasp_scene

METHODS = ("lagged", "SAP", CONVEX_INTEGRATOR)
TURN = 0.25
SETTLING = 0.25
DURATION = 2.0
#: Largest share of Drake's CPU time, by its method, and least real-time factor, by faces.
SHARES_WANTED = {"lagged": 0.06, CONVEX_INTEGRATOR: 0.15}
REAL_TIME_WANTED = {200: 10.0, 1190: 3.0}


def main() -> None:
    """Run all contestants at all resolutions, print the tables, write the results."""
    output = output_argument(__doc__.splitlines()[0], "face_scaling")
    console = Console(width=120)
    resolutions = []
    for faces in MESHES:
        scene = grasp_scene(faces)
        contestants = [ours(scene), *(drake(scene, method) for method in METHODS)]
        results = compete(
            contestants,
            scene.spec.time_step,
            TURN,
            SETTLING,
            DURATION,
            "cylinder",
            lambda X_WB: float(X_WB[2, 3]),
        )
        console.print(contest_table(results, f"{SCENE}, about {faces} faces", "final height"))
        shares = {method: share_of_best(results, f"Drake {method}") for method in METHODS}
        (mine,) = (result for result in results if result.simulator == OURS)
        for method, wanted in SHARES_WANTED.items():
            console.print(f"share of Drake {method}: {shares[method]:.3f}, wanted at most {wanted:g}")
        if faces in REAL_TIME_WANTED:
            wanted = REAL_TIME_WANTED[faces]
            console.print(f"times real time: {mine.real_time_factor:.1f}, wanted at least {wanted:g}")
        resolutions.append({"faces": faces, "shares": shares, "rows": as_rows(results)})
    write(output, {"scene": SCENE, "time_step": scene.spec.time_step, "resolutions": resolutions})


if __name__ == "__main__":
    main()
