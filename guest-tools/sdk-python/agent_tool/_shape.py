"""Type hints as shapes: the JSON Schema that the host checks an input against, and how the input
becomes Python values.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_tool._output import Output, Part, plain
from agent_tool._prose import reflow

# The supported hints; the message of every refusal ends with it.
SUPPORTED = (
    "str, int, float, bool, None, Any, list[...], dict[str, ...], Optional, |, Literal, Enum, dataclasses, "
    "TypedDict and Annotated"
)


class Unsupported(Exception):
    """A tool that cannot be defined as it is written. The text names the error and what can be
    written instead.
    """


class Misfit(Exception):
    """A JSON value that does not fit its shape. The text begins with its position."""


class Schema:
    """More of JSON Schema for a hint: `Annotated[int, "How many.", Schema(minimum=0, maximum=10)]`.

    The host checks it; the hint alone decides how the value is read.
    """

    def __init__(self, **keywords: object) -> None:
        self.keywords = keywords


@dataclass(frozen=True)
class Shape:
    """The meaning of a hint."""

    schema: dict[str, object]
    """The JSON Schema."""
    read: Callable[[object, str], object]
    """Makes the Python value of a JSON value; the second argument is where it stands, as a JSON
    pointer.
    """


@dataclass(frozen=True)
class Field:
    """One property of an object."""

    name: str
    shape: Shape
    required: bool
    default: object = None
    """The default in the schema of an absent value; `None` if there is none."""


def shape_of(hint: object, inside: tuple[type, ...] = ()) -> Shape:
    """The shape of a hint. `inside` are the classes that it is a part of, to find one that holds
    itself.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _annotated(shape_of(arguments[0], inside), arguments[1:])
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is typing.Literal:
        return _one_of({value: value for value in arguments}, hint)
    if origin in (typing.Union, types.UnionType):
        return _union([shape_of(argument, inside) for argument in arguments])
    if hint in (list, Sequence) or origin in (list, Sequence):
        return _list(shape_of(arguments[0], inside) if arguments else _PLAIN[typing.Any])
    if hint in (dict, Mapping) or origin in (dict, Mapping):
        return _dict(hint, arguments, inside)
    if isinstance(hint, type):
        return _class(hint, inside)
    raise Unsupported(f"the hint `{_name(hint)}` has no JSON Schema; use {SUPPORTED}")


def object_of(fields: Sequence[Field], build: Callable[[dict[str, object]], object]) -> Shape:
    """An object with these fields and no others. `build` gets those that the input has."""
    by_name = {field.name: field for field in fields}
    properties = {}
    for field in fields:
        schema = dict(field.shape.schema)
        if field.default is not None:
            schema["default"] = field.default
        properties[field.name] = schema
    schema = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required := [field.name for field in fields if field.required]:
        schema["required"] = required

    def read(value: object, path: str) -> object:
        value = _expect(value, dict, "an object", path)
        for name in value:
            if name not in by_name:
                raise Misfit(
                    f"{_place(path)} has the unknown field `{name}`; there are {_listed(by_name)}"
                )
        for field in fields:
            if field.required and field.name not in value:
                raise Misfit(f"{_place(path)} lacks the field `{field.name}`")
        return build(
            {name: by_name[name].shape.read(item, f"{path}/{name}") for name, item in value.items()}
        )

    return Shape(schema, read)


def is_record(hint: object) -> bool:
    """True if a hint is a type with fields, a dataclass or a TypedDict; result types are not."""
    if hint in (Output, Part) or not isinstance(hint, type):
        return False
    return dataclasses.is_dataclass(hint) or typing.is_typeddict(hint)


def _expect(value: object, kind: type | tuple[type, ...], what: str, path: str) -> typing.Any:
    # `True` is an `int` in Python, and no number in JSON.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Misfit(f"{_place(path)} is not {what}")
    return value


def _read_integer(value: object, path: str) -> int:
    # JSON does not tell 5.0 from 5.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _expect(value, int, "an integer", path)


def _read_none(value: object, path: str) -> None:
    if value is not None:
        raise Misfit(f"{_place(path)} is not null")


_PLAIN: dict[object, Shape] = {
    str: Shape({"type": "string"}, lambda value, path: _expect(value, str, "a string", path)),
    int: Shape({"type": "integer"}, _read_integer),
    float: Shape(
        {"type": "number"},
        lambda value, path: float(_expect(value, (int, float), "a number", path)),
    ),
    bool: Shape(
        {"type": "boolean"}, lambda value, path: _expect(value, bool, "true or false", path)
    ),
    None: Shape({"type": "null"}, _read_none),
    types.NoneType: Shape({"type": "null"}, _read_none),
    typing.Any: Shape({}, lambda value, path: value),
    object: Shape({}, lambda value, path: value),
}


def _annotated(shape: Shape, notes: Sequence[object]) -> Shape:
    """A string is the description, and a `Schema` says more. Notes of other libraries are for
    these.
    """
    schema = dict(shape.schema)
    for note in notes:
        if isinstance(note, str):
            schema["description"] = reflow(note)
        elif isinstance(note, Schema):
            schema.update(note.keywords)
    return Shape(schema, shape.read)


def _one_of(values: dict[object, object], hint: object) -> Shape:
    """One of some JSON values, each of which stands for a Python value."""
    kinds = {type(value) for value in values}
    names = {str: "string", int: "integer"}
    if not values or not kinds <= names.keys():
        raise Unsupported(f"the values of `{_name(hint)}` must be strings or integers")
    schema: dict[str, object] = {"enum": list(values)}
    if len(kinds) == 1:
        schema["type"] = names[kinds.pop()]

    def read(value: object, path: str) -> object:
        # Neither `True` nor 1.5 may be taken for a value that is equal to it.
        if type(value) not in names or value not in values:
            raise Misfit(f"{_place(path)} is none of {_listed(values)}")
        return values[value]

    return Shape(schema, read)


def _union(shapes: Sequence[Shape]) -> Shape:
    kinds = [shape.schema.get("type") for shape in shapes]
    schema: dict[str, object] = {"anyOf": [shape.schema for shape in shapes]}
    if (
        len(shapes) == 2
        and kinds[1] == "null"
        and isinstance(kinds[0], str)
        and "enum" not in shapes[0].schema
    ):
        # The short form of "this or nothing", which every provider understands.
        schema = {**shapes[0].schema, "type": [kinds[0], "null"]}

    def read(value: object, path: str) -> object:
        misfits = []
        for shape in shapes:
            try:
                return shape.read(value, path)
            except Misfit as misfit:
                misfits.append(str(misfit))
        raise Misfit(", and ".join(dict.fromkeys(misfits)))

    return Shape(schema, read)


def _list(item: Shape) -> Shape:
    def read(value: object, path: str) -> list[object]:
        items = _expect(value, list, "a list", path)
        return [item.read(one, f"{path}/{index}") for index, one in enumerate(items)]

    return Shape({"type": "array", "items": item.schema}, read)


def _dict(hint: object, arguments: Sequence[object], inside: tuple[type, ...]) -> Shape:
    key, item = arguments or (str, typing.Any)
    if key is not str:
        raise Unsupported(
            f"the keys of `{_name(hint)}` must be `str`, as those of a JSON object are"
        )
    shape = shape_of(item, inside)

    def read(value: object, path: str) -> dict[str, object]:
        items = _expect(value, dict, "an object", path)
        return {name: shape.read(one, f"{path}/{name}") for name, one in items.items()}

    return Shape({"type": "object", "additionalProperties": shape.schema or True}, read)


def _class(hint: type, inside: tuple[type, ...]) -> Shape:
    if hint in inside:
        raise Unsupported(
            f"`{_name(hint)}` holds itself, which no schema here can say; use `Any` for the inner one"
        )
    if issubclass(hint, enum.Enum):
        return _one_of({member.value: member for member in hint}, hint)
    if typing.is_typeddict(hint):
        shape = object_of(_typed_dict_fields(hint, (*inside, hint)), dict)
    elif dataclasses.is_dataclass(hint):
        shape = object_of(_dataclass_fields(hint, (*inside, hint)), lambda fields: hint(**fields))
    else:
        raise Unsupported(f"the type `{_name(hint)}` has no JSON Schema; use {SUPPORTED}")
    own = hint.__dict__.get("__doc__") or ""
    # `dataclass` writes a docstring of its own where there is none: the signature.
    return shape if not own or own.startswith(f"{hint.__name__}(") else _annotated(shape, [own])


def _dataclass_fields(hint: type, inside: tuple[type, ...]) -> list[Field]:
    hints = typing.get_type_hints(hint, include_extras=True)
    fields = []
    for field in dataclasses.fields(hint):
        if not field.init:
            continue
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        required = default is dataclasses.MISSING
        shape = shape_of(hints[field.name], inside)
        fields.append(
            Field(field.name, shape, required, None if required else shown_default(default))
        )
    return fields


def shown_default(value: object) -> object:
    """A default as the schema shows it. One without a JSON form is used but not shown."""
    try:
        return plain(value)
    except TypeError:
        return None


def _typed_dict_fields(hint: type, inside: tuple[type, ...]) -> list[Field]:
    fields = []
    for name, one in typing.get_type_hints(hint, include_extras=True).items():
        # The wrappers say what `__required_keys__` says, too.
        while typing.get_origin(one) in (typing.Required, typing.NotRequired):
            one = typing.get_args(one)[0]
        fields.append(Field(name, shape_of(one, inside), name in hint.__required_keys__))
    return fields


def _place(path: str) -> str:
    return f"`{path}`" if path else "the input"


def _listed(values: typing.Iterable[object]) -> str:
    return ", ".join(f"`{value}`" for value in values) or "none"


def _name(hint: object) -> str:
    return (
        hint.__name__
        if isinstance(hint, type) and not typing.get_args(hint)
        else str(hint).removeprefix("typing.")
    )
