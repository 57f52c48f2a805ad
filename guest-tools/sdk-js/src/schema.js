/**
 * The builder of inputs. Each function makes a shape: the JSON Schema that the host checks an input
 * against, and how the input becomes the value that the tool gets. Types are in `index.d.ts`.
 */

import { DefinitionError } from "./failure.js";

/** A JSON Schema with the way to read what fits it. */
export class Shape {
  /**
   * @param schema the JSON Schema
   * @param read makes the tool's value of a JSON value that fits
   * @param isOptional whether a field of this shape may be left out
   * @param fallback what a field is that was left out
   */
  constructor(schema, read = (value) => value, isOptional = false, fallback = undefined) {
    this.schema = schema;
    this.read = read;
    this.isOptional = isOptional;
    this.fallback = fallback;
  }
}

/** The shape itself, or that of a plain JSON Schema. */
export function shapeOf(given, what) {
  if (given instanceof Shape) {
    return given;
  }
  if (given === null || typeof given !== "object" || Array.isArray(given)) {
    throw new DefinitionError(`${what} is neither a shape like \`string()\` nor a JSON Schema`);
  }
  return new Shape(given);
}

export function string(description, more) {
  return new Shape(schema({ type: "string" }, description, more));
}

/**
 * An integer that a `number` holds exactly: within 2^53 on both sides of zero, unless `more` has
 * closer bounds.
 */
export function integer(description, more) {
  const bounds = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
  return new Shape(schema({ type: "integer", ...bounds }, description, more), Number);
}

/** An integer of any size, as a `bigint`. */
export function bigint(description, more) {
  return new Shape(schema({ type: "integer" }, description, more), BigInt);
}

export function number(description, more) {
  return new Shape(schema({ type: "number" }, description, more), Number);
}

export function boolean(description, more) {
  return new Shape(schema({ type: "boolean" }, description, more));
}

/** Any JSON value; in it, integers that a `number` cannot hold are `bigint`. */
export function any(description, more) {
  return new Shape(schema({}, description, more));
}

/** One of some strings or numbers. */
export function enumOf(values, description, more) {
  const kinds = new Set(values.map((value) => typeof value));
  const type = kinds.size === 1 && kinds.has("string") ? { type: "string" } : {};
  return new Shape(schema({ ...type, enum: [...values] }, description, more));
}

export function array(item, description, more) {
  const { schema: items, read } = shapeOf(item, "the item of `array()`");
  const own = schema({ type: "array", items }, description, more);
  return new Shape(own, (values) => values.map((value) => read(value)));
}

/** An object with any fields, whose values are all of one shape. */
export function record(item, description, more) {
  const { schema: values, read } = shapeOf(item, "the value of `record()`");
  const own = schema({ type: "object", additionalProperties: values }, description, more);
  return new Shape(own, (value) =>
    Object.fromEntries(Object.entries(value).map(([name, one]) => [name, read(one)])),
  );
}

/** An object with these fields and no others. */
export function object(fields, description, more) {
  const shapes = Object.entries(fields).map(([name, field]) => [
    name,
    shapeOf(field, `the field \`${name}\``),
  ]);
  const required = shapes.filter(([, shape]) => !shape.isOptional).map(([name]) => name);
  const own = {
    type: "object",
    properties: Object.fromEntries(shapes.map(([name, shape]) => [name, shape.schema])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
  return new Shape(schema(own, description, more), (value) => readFields(shapes, value));
}

/** A field that may be left out; it is then `fallback`. */
export function optional(item, fallback) {
  const { schema: own, read } = shapeOf(item, "what is `optional()`");
  const shown = fallback === undefined ? own : { ...own, default: fallback };
  return new Shape(shown, read, true, fallback);
}

function readFields(shapes, value) {
  const read = {};
  for (const [name, shape] of shapes) {
    if (Object.hasOwn(value, name)) {
      read[name] = shape.read(value[name]);
    } else if (shape.fallback !== undefined) {
      read[name] = shape.fallback;
    }
  }
  return read;
}

function schema(own, description, more) {
  return { ...own, ...(description !== undefined && { description }), ...more };
}
