"""Sections of a scene file for sensors: one for every row of the table of sensors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, create_model
from pydantic_core import PydanticCustomError

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene_fields import NonNegative, conflict, unit
from hydro_sim_core.description.sensor_spec import SensorSpec
from hydro_sim_core.description.sensor_types import SensorType, sensor_types
from hydro_sim_core.errors import excerpt


def _sensor_section(kind: SensorType) -> type[SensorSpec]:
    """Section for one kind of sensor."""
    own = {
        setting.name: (
            setting.type,
            Field(
                setting.default,
                description=setting.description,
                json_schema_extra=unit(setting.unit) if setting.unit else None,
            ),
        )
        for setting in kind.settings
    }
    rate = SensorSpec.model_fields["rate"]
    keys: dict[str, Any] = {
        "type": (Literal[kind.name], Field(description="Type of sensor.")),  # type: ignore[name-defined]
        "rate": (
            NonNegative,
            Field(kind.rate, description=rate.description, json_schema_extra=rate.json_schema_extra),
        ),
        **own,
    }
    name = f"{kind.name}_sensor"
    section = create_model(
        name,
        __base__=SensorSpec,
        __doc__=kind.description,
        __module__=__name__,
        __cls_kwargs__={"validate_default": True},
        **keys,
    )
    globals()[name] = section  # pickle looks the class up here
    return section


#: Section of a scene file for each kind of sensor.
SENSOR_SECTIONS: dict[str, type[SensorSpec]] = {
    name: _sensor_section(kind) for name, kind in sensor_types().items()
}


def _of_its_type(given: Any) -> Any:
    """Validate a sensor with the section of its ``type``, so that errors refer to the keys of that type."""
    if isinstance(given, SensorSpec):
        return given
    if not isinstance(given, dict):
        raise conflict(f"{excerpt(given)} is not accepted", "it should be a mapping of keys to values")
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in SENSOR_SECTIONS:
        problem = f"{excerpt(kind)} is no sensor" if "type" in given else "is missing"
        mend = did_you_mean(str(kind), SENSOR_SECTIONS)
        raise PydanticCustomError(
            "unknown_key", "{problem}; {mend}", {"key": "type", "problem": problem, "mend": mend}
        )
    return SENSOR_SECTIONS[kind].model_validate(given)


SensorChoice = Annotated[SerializeAsAny[SensorSpec], BeforeValidator(_of_its_type)]
