"""Two random bodies in a random relation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from hydro_sim_core.geometry import Geometry
from support.contact.poses import pose, random_direction, random_rotation
from support.contact.random_meshes import Recipe, recipes

RELATIONS = ("overlapping", "overlapping", "nested", "apart", "same pose", "face to face", "quarter turn")


@dataclass(frozen=True)
class Scene:
    """Two bodies and how they lie.

    Attributes:
        a: Body A; its size sets that of the scene.
        b: Body B, compliant.
        ratio: Size of B in those of A.
        relation: One of ``RELATIONS``.
        seed: Of the poses.
        far: Distance of the scene from the world's origin, in sizes of A.
    """

    a: Recipe
    b: Recipe
    ratio: float
    relation: str
    seed: int
    far: float

    def recipes(self) -> tuple[Recipe, Recipe]:
        """Of both bodies: in the same pose they are the same, unless A is rigid, and never otherwise.

        Like bodies can have one and the same pressure throughout their cores.
        """
        if self.relation == "same pose" and self.a.field != "rigid":
            return self.a, self.a
        return self.a, replace(self.b, size=self.ratio * self.a.size, seed=self.b.seed + 10**7)

    def bodies(self) -> tuple[Geometry, Geometry]:
        """Make both bodies."""
        a, b = self.recipes()
        return a.build(), b.build()

    def centers(self) -> tuple[np.ndarray, np.ndarray]:
        """Middles of both bodies in their frames."""
        a, b = self.recipes()
        return a.center(), b.center()

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Poses of A and B."""
        rng = np.random.default_rng(self.seed)
        middle = self.far * self.a.size * random_direction(rng)
        reach = self.a.size * (1.0 + self.ratio)
        gap = {"nested": 0.3 * abs(1.0 - self.ratio) * self.a.size, "apart": 3.0 * reach}
        shift = gap.get(self.relation, 0.5 * reach) * rng.uniform() * random_direction(rng)
        R_WA, R_WB = random_rotation(rng), random_rotation(rng)
        if self.relation in ("same pose", "quarter turn"):
            shift, R_WB = np.zeros(3), R_WA
        if self.relation == "face to face":
            shift, R_WB = np.array([0.0, 0.0, 2.0]) * self.a.size, np.eye(3)
        if self.relation in ("quarter turn", "face to face"):
            R_WA = R_WB @ np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        center_a, center_b = self.centers()
        return pose(middle - R_WA @ center_a, R_WA), pose(middle + shift - R_WB @ center_b, R_WB)


scenes = st.builds(
    Scene,
    a=recipes() | recipes(rigid=True),
    b=recipes(),
    ratio=st.sampled_from([0.1, 0.5, 1.0, 1.0, 5.0]),
    relation=st.sampled_from(RELATIONS),
    seed=st.integers(0, 10**6),
    far=st.sampled_from([0.0, 1.0, 1000.0]),
)
