"""Keys of a scene file that every sensor has."""

from __future__ import annotations

from pydantic import Field, PrivateAttr

from hydro_sim_core.description.scene_fields import Name, NonNegative, PoseSpec, Word, unit
from hydro_sim_core.description.spec import Array
from hydro_sim_core.description.yaml_source import Section


class SensorSpec(Section):
    """A sensor on a link. Further keys are the settings of its type."""

    type: Name = Field(description="Type of sensor.")
    name: Word = Field(
        description="Unique name in the scene, of letters, digits and _: of the sensor, its frame and its topics."
    )
    link: Name = Field(description="Link that carries it.")
    pose: PoseSpec = Field(PoseSpec(), description="Of its frame in the link.")
    rate: NonNegative = Field(
        0.0,
        description="Messages a second of simulated time; 0 for one every step.",
        json_schema_extra=unit("Hz"),
    )

    #: Whether its frame is that of its link, as those of sensors in descriptions are, and none of its own.
    _is_in_link: bool = PrivateAttr(False)

    def take_frame_of_link(self) -> None:
        """Have no frame of its own, but that of its link."""
        self._is_in_link = True

    @property
    def has_frame(self) -> bool:
        """Whether it has a frame of its own."""
        return not self._is_in_link

    @property
    def frame(self) -> str:
        """Name of its frame."""
        return self.link if self._is_in_link else self.name

    @property
    def X_LS(self) -> Array:
        """(4, 4) pose of the sensor's frame in the link."""
        return self.pose.X
