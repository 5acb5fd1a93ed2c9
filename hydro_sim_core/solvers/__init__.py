"""Contact solvers: from faces, Jacobians and the mass matrix to the next velocities, one convex problem a step.

    minimise over v:  1/2 |v - v0|^2_A - b . (v - v0) + sum of face, joint-limit, drive and friction costs

with A = M + dt diag(damping) and b the impulse of the forces at the beginning of the step (Castro 2022 and 2023;
Masterjohn 2022). ``face_laws`` holds the friction laws of a face, ``patch_terms`` and ``joint_terms`` sum gradients and
Hessians of the costs, ``islands`` finds coupled trees. A method solves one island: ``newton`` minimises the cost,
``tamsi`` solves equations that are not the gradient of a cost, ``pgs`` iterates over impulses. ``solve`` makes an entry
point of a method and a law by the tables in ``description.solver_choices``.
"""

from hydro_sim_core.solvers.islands import find_islands
from hydro_sim_core.solvers.options import SolverOptions, make_solver_scratch
from hydro_sim_core.solvers.problem import ContactProblem, make_problem
from hydro_sim_core.solvers.solve import solver_entries, solver_entry

__all__ = [
    "ContactProblem",
    "SolverOptions",
    "find_islands",
    "make_problem",
    "make_solver_scratch",
    "solver_entries",
    "solver_entry",
]
