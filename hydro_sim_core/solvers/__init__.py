"""Faces, Jacobians and the mass matrix in, next velocities out: one convex problem a step.

    minimise over v:  1/2 |v - v0|^2_A - b . (v - v0) + sum of face, joint-limit, drive and friction costs

with A = M + dt diag(damping) and b the impulse of the forces at the beginning of the step (Castro 2022 and 2023;
Masterjohn 2022). ``patch_terms`` and ``joint_terms`` give costs' gradients and Hessians, ``newton`` minimises.
"""

from hydro_sim_core.solvers.newton import SolverOptions, solve
from hydro_sim_core.solvers.problem import ContactProblem, make_problem

__all__ = ["ContactProblem", "SolverOptions", "make_problem", "solve"]
