"""Forms: classes as JSON Schemas of one flat object, in the subset of MCP's form elicitation."""

from __future__ import annotations

from collections.abc import Mapping

from agent_tool._shape import Shape, Unsupported, is_record, shape_of

_TYPES = ("string", "number", "integer", "boolean")


def form_of(form: object) -> Shape:
    """The shape of a form: of a dataclass, of a TypedDict, or of a JSON Schema, which is taken as
    it is.
    """
    if isinstance(form, Mapping):
        return Shape(dict(form), lambda value, path: value)
    if not is_record(form):
        raise TypeError(f"a form is a dataclass, a TypedDict or a JSON Schema, and not {form!r}")
    try:
        shape = shape_of(form)
    except Unsupported as problem:
        raise TypeError(f"the form `{form.__name__}`: {problem}") from None
    properties = {
        name: _field(form, name, schema) for name, schema in shape.schema["properties"].items()
    }
    schema: dict[str, object] = {"type": "object", "properties": properties}
    if required := shape.schema.get("required"):
        schema["required"] = required
    return Shape(schema, shape.read)


def _field(form: type, name: str, schema: dict[str, object]) -> dict[str, object]:
    """The schema of one field. A field that is not filled in is absent and never null."""
    schema = dict(schema)
    given = [one for one in schema.pop("anyOf", ()) if one != {"type": "null"}]
    if len(given) == 1:
        schema = {**given[0], **schema}
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = schema["type"] = kind[0]
    if kind not in _TYPES:
        raise TypeError(
            f"the field `{name}` of the form `{form.__name__}` is not flat: a field is a str, an int, a float, "
            "a bool, a Literal or an Enum"
        )
    return schema
