"""Reading and validation of YAML; errors give the line and the path within the file."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from hydro_sim_core.description.names import did_you_mean, mend_of_absent
from hydro_sim_core.description.xml_source import read_bytes
from hydro_sim_core.description.yaml_loaders import MOST_BYTES, TooLarge, Yaml12Loader
from hydro_sim_core.errors import InputError


class Section(BaseModel):
    """A mapping in a YAML file: immutable, with suggestions for unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Keys by the names that programs and other paths have for them.
    _known_as: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in data:
                if key not in cls.model_fields:
                    raise PydanticCustomError(
                        "unknown_key",
                        "unknown key '{key}'; {mend}",
                        {"key": str(key), "mend": cls._mend_of_unknown(str(key))},
                    )
        return data

    @classmethod
    def _mend_of_unknown(cls, key: str) -> str:
        if key in cls._known_as:
            return f"write {cls._known_as[key]}"
        places = [
            f"write {kind._known_as.get(key, key)} under '{name}'"
            for name, kind in cls._sections_below()
            if kind._known_as.get(key, key) in kind.model_fields
        ]
        return mend_of_absent(key) or did_you_mean(key, cls.model_fields, "".join(places[:1]))

    @classmethod
    def _sections_below(cls) -> Iterator[tuple[str, type[Section]]]:
        """Sections by the keys that hold one of them, and no list."""
        for name, field in cls.model_fields.items():
            if get_origin(field.annotation) is not tuple:
                for kind in (field.annotation, *get_args(field.annotation)):
                    if isinstance(kind, type) and issubclass(kind, Section):
                        yield name, kind


SectionT = TypeVar("SectionT", bound=Section)


def load_yaml(path: Path, section: type[SectionT]) -> SectionT:
    """Read a YAML file into a section.

    Raises:
        InputError: The file is missing, is not YAML, repeats a key or does not fit the section.
    """
    text = read_bytes(path, MOST_BYTES)
    try:
        loader = Yaml12Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise InputError(path, "", "the file is empty", "write a mapping of keys to values")
        _refuse_duplicate_keys(node, path)
        data = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(path, line, f"not YAML: {error.problem}", "correct the syntax") from None
    except RecursionError:
        raise InputError(path, "", "its values nest too deeply", "flatten it") from None
    except TooLarge as error:
        raise InputError(path, "", str(error), "shorten it, or divide it") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        problem = " ".join(str(error).split())
        raise InputError(path, "", f"not YAML: {problem}", "correct the syntax") from None
    try:
        return section.model_validate(data)
    except ValidationError as error:
        raise _as_input_error(error, path, node) from None


def checked(
    data: Any, section: type[SectionT], source: object, typed: Mapping[Location, str] | None = None
) -> SectionT:
    """Validate plain data as a section.

    Args:
        data: The data.
        section: What it shall be.
        source: Where it comes from, for error messages.
        typed: How a user has named what stands at a path within the data, where that differs.

    Raises:
        InputError: The data does not fit the section; the error names the path within the data, as the user has.
    """
    try:
        return section.model_validate(data)
    except ValidationError as error:
        where, problem, mend = _first_problem(error, typed or {})
        raise InputError(source, where, problem, mend) from None


def parse_value(text: str) -> Any:
    """Parse a value in YAML syntax.

    Raises:
        ValueError: The text is not a YAML value.
    """
    try:
        return yaml.load(text, Yaml12Loader)  # a safe loader: plain data only
    except (yaml.YAMLError, RecursionError):
        raise ValueError(f"{text!r} is no YAML") from None


#: Quotes the beginning of a value; with aliases a short file can contain an astronomically long one.
_excerpt = reprlib.Repr()
_excerpt.maxlevel, _excerpt.maxlist, _excerpt.maxdict, _excerpt.maxstring = 2, 4, 4, 80


def _refuse_duplicate_keys(root: yaml.Node, path: Path) -> None:
    waiting, visited = [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        if isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                waiting.append(value)
                if not isinstance(key, yaml.ScalarNode):
                    continue
                if key.value in keys:
                    line = f"line {key.start_mark.line + 1}"
                    raise InputError(path, f"{key.value}, {line}", "the key stands twice", "keep one")
                keys.add(key.value)


#: Keys and indices that lead to a part of plain data.
Location = tuple[int | str, ...]
#: Requirements in words of the file rather than of Python.
_IN_WORDS_OF_YAML = {
    "model_type": "be a mapping of keys to values",
    "tuple_type": "be a list",
    "dict_type": "be a mapping of names to values",
    "string_type": "be text",
    "bool_type": "be true or false",
}
#: Types that locations name below a value that may be of several, with the beginning of their problems' names.
_SCALARS = {"str": "string_", "bool": "bool_", "int": "int_", "float": "float_"}


def _as_input_error(error: ValidationError, path: Path, root: yaml.Node) -> InputError:
    where, problem, mend = _first_problem(error)
    if problem.startswith("None is"):  # what a file's null, or nothing behind a colon, becomes
        problem = f"null{problem.removeprefix('None')}"
    line = _line_of(root, _location(_alternatives(error.errors(include_url=False))[0]))
    return InputError(path, f"{where}, line {line}".lstrip(", "), problem, mend)


def _first_problem(
    error: ValidationError, typed: Mapping[Location, str] | None = None
) -> tuple[str, str, str]:
    """Path, description and remedy of the first problem."""
    details = error.errors(include_url=False)
    first = _alternatives(details)
    others = [one for one in details if not _is_alternative_to(one, details[0])]
    # What a user has given once may stand at two places, as friction does.
    places = list(dict.fromkeys(_as_typed(_location(one), typed or {}) for one in [first[0], *others]))
    problem, mend = _words_for(first)
    if len(places) > 1:
        of = "values" if typed else "file's values"
        problem += f" (and {len(places) - 1} more of the {of})"
    return places[0], problem, mend


def _as_typed(location: Location, typed: Mapping[Location, str]) -> str:
    """A path within the data, in the words of the user who has given what stands there."""
    for count in range(len(location), 0, -1):
        if location[:count] in typed:
            return ".".join([typed[location[:count]], *map(str, location[count:])])
    return ".".join(map(str, location))


def _location(details: ErrorDetails) -> Location:
    unknown = [details["ctx"]["key"]] if details["type"] == "unknown_key" else []
    type_at = _place_of_type(details)
    return tuple(part for i, part in enumerate([*details["loc"], *unknown]) if i != type_at)


def _place_of_type(details: ErrorDetails) -> int | None:
    """Where a location names a type, as it does below a value that may be of several; None if it does not."""
    location = details["loc"]
    for i, part in enumerate(location):
        if isinstance(part, str) and part.startswith(("literal[", "tuple[")):
            return i
    scalar = _SCALARS.get(str(location[-1])) if location else None
    return len(location) - 1 if scalar is not None and details["type"].startswith(scalar) else None


def _is_alternative_to(one: ErrorDetails, other: ErrorDetails) -> bool:
    """Whether two problems are of the same value, which may be of several types and fits none of them."""
    at, place = _place_of_type(other), _place_of_type(one)
    return one is other or (at is not None and place == at and one["loc"][:at] == other["loc"][:at])


def _alternatives(details: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """The first problem; of a value that may be of several types that of the one it is nearest to, or those of all."""
    same = [one for one in details if _is_alternative_to(one, details[0])]
    deepest = max(same, key=lambda one: len(_location(one)))
    return same if len(_location(deepest)) == len(_location(same[0])) else [deepest]


def _words_for(alternatives: Sequence[ErrorDetails]) -> tuple[str, str]:
    details = alternatives[0]
    context: dict[str, Any] = details.get("ctx", {})
    if "mend" in context:
        return details["msg"].partition("; ")[0], context["mend"]
    if details["type"] == "missing":
        return "is missing", "add it"
    message = details["msg"]
    if message.startswith("Input should "):
        requirements = [_requirement(one).removeprefix("be ") for one in alternatives[1:]]
        wanted = " or ".join([_requirement(details), *requirements])
        return f"{_excerpt.repr(details['input'])} is not accepted", f"it should {wanted}"
    if details["type"] == "string_too_short":
        return f"{_excerpt.repr(details['input'])} is empty", "write a text"
    if details["type"] == "too_short" and context["min_length"] == 1:
        return f"{_excerpt.repr(details['input'])} is empty", "write one at least"
    if details["type"] == "too_long" and isinstance(details["input"], list):
        problem = f"{_excerpt.repr(details['input'])} has {context['actual_length']} entries"
        return problem, f"give {context['max_length']}"
    return f"{_excerpt.repr(details['input'])}: {message}", "correct the value"


def _requirement(details: ErrorDetails) -> str:
    return _IN_WORDS_OF_YAML.get(details["type"], details["msg"].removeprefix("Input should "))


def _line_of(root: yaml.Node, location: Sequence[int | str]) -> int:
    """Line of the innermost part of ``location`` that exists in the file, counted from 1."""
    node, line = root, root.start_mark.line
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == str(part)]
            if not found:
                break
            line, node = found[0][0].start_mark.line, found[0][1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1
