"""Warnings of contact properties that the law of damping does not look at."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from hydro_sim_core.description.places import is_call_site
from hydro_sim_core.description.scene import SceneSpec
from hydro_sim_core.description.spec import CollisionSpec, ProximitySpec, RobotSpec

_LOG = logging.getLogger(__name__)


def warn_of_idle_damping(
    spec: SceneSpec, robots: Iterable[RobotSpec], environment: Iterable[CollisionSpec], source: Path
) -> None:
    """Warn of a dissipation with linear damping, or a relaxation time without it, where the other is not given.

    Args:
        spec: Contents of the scene file.
        robots: One robot per model. Their files may name a relaxation time for other programs, and are not looked at
            for it.
        environment: Static geometry.
        source: The scene file.
    """
    bodies = [(one.name, one.proximity) for one in environment]
    if spec.damping == "linear":
        bodies += _of_links(robots)
        unused = _idle(spec, bodies, "dissipation", "relaxation_time")
        told = (
            "%s: dissipation does nothing with linear damping%s, and %s has one; write "
            "contact.defaults.relaxation_time, which is %g s where nobody gives one"
        )
        law = ", which is that of sap" if spec.contact.damping is None else ""
        instead = spec.contact.defaults.relaxation_time
    else:
        bodies += [(f"models.{one.name}", one.proximity.spec) for one in spec.models]
        bodies += _of_links(
            robot for one, robot in zip(spec.models, robots, strict=True) if is_call_site(one.urdf)
        )
        unused = _idle(spec, bodies, "relaxation_time", "dissipation")
        told = (
            "%s: relaxation_time does nothing with hunt_crossley damping%s, and %s has one; write contact.damping: "
            "linear, or contact.defaults.dissipation, which is %g s/m where nobody gives one"
        )
        law = ", which is the default" if spec.contact.damping is None else ""
        instead = spec.contact.defaults.dissipation
    if unused:
        who = unused[0] if len(unused) == 1 else f"{unused[0]} beside {len(unused) - 1} more"
        _LOG.warning(told, source, law, who, instead)


def _of_links(robots: Iterable[RobotSpec]) -> list[tuple[str, ProximitySpec]]:
    return [(one.name, one.proximity) for robot in robots for link in robot.links for one in link.collisions]


def _idle(spec: SceneSpec, bodies: Iterable[tuple[str, ProximitySpec]], idle: str, other: str) -> list[str]:
    """What has one property and not the other one; nothing if the other one is among the defaults."""
    given = spec.contact.defaults.model_fields_set
    if other in given:
        return []
    unused = ["contact.defaults"] if idle in given else []
    return unused + [
        name for name, has in bodies if getattr(has, idle) is not None and getattr(has, other) is None
    ]
