"""Scene of an arm with two Soft-bubble fingers that squeeze a cylinder, at several mesh resolutions."""

from __future__ import annotations

from hydro_sim_core.description import LoadedScene, load_scene
from hydro_sim_core.simulation.scenes import shipped_scene

SCENE = "cylinder_grasp"
#: Edge lengths of the bubbles' and of the cylinder's mesh, m, by the approximate number of contact faces.
MESHES = {
    200: (0.04, 0.0054),
    440: (0.02, 0.0056),
    800: (0.02, 0.0027),
    1190: (0.01, 0.0043),
    2000: (0.01, 0.0022),
}


def grasp_scene(faces: int) -> LoadedScene:
    """The shipped scene, without margins, with meshes for about ``faces`` contact faces, a key of ``MESHES``."""
    bubble_hint, cylinder_hint = MESHES[faces]
    return load_scene(shipped_scene(SCENE)).with_(
        {
            "models.arm.xacro_args.bubble_hint": bubble_hint,
            "models.cylinder.xacro_args.hint": cylinder_hint,
            "contact.defaults.margin": 0.0,
        }
    )
