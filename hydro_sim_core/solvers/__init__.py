"""Faces, Jacobians and the mass matrix in, next velocities out: one convex problem a step.

    minimise over v:  1/2 |v - v0|^2_A - b . (v - v0) + sum of face, joint-limit, drive and friction costs

with A = M + dt diag(damping) and b the impulse of the forces at the beginning of the step (Castro 2022 and 2023;
Masterjohn 2022). ``face_laws`` holds what a face does, ``patch_terms`` and ``joint_terms`` sum costs' gradients and
Hessians, ``islands`` finds what is coupled. Methods solve an island: ``newton`` minimises, ``pgs`` sweeps over
impulses, ``tamsi`` solves equations that are no cost's. ``solve`` makes an entry point of a method and a law, by the
tables in ``description.solver_choices``.
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
