/** Every shape: its schema, and what it reads. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  any,
  array,
  bigint,
  boolean,
  enumOf,
  integer,
  number,
  object,
  optional,
  record,
  string,
} from "../index.js";

const BOUNDS = { minimum: -9007199254740991, maximum: 9007199254740991 };

test("shape has its schema", () => {
  const cases = [
    [string(), { type: "string" }],
    [string("Words.", { minLength: 1 }), { type: "string", description: "Words.", minLength: 1 }],
    [integer(), { type: "integer", ...BOUNDS }],
    [
      integer("Few.", { maximum: 3 }),
      { type: "integer", ...BOUNDS, description: "Few.", maximum: 3 },
    ],
    [bigint(), { type: "integer" }],
    [number(), { type: "number" }],
    [boolean("Whether."), { type: "boolean", description: "Whether." }],
    [any(), {}],
    [enumOf(["a", "b"]), { type: "string", enum: ["a", "b"] }],
    [enumOf([1, "a"]), { enum: [1, "a"] }],
    [array(string(), "Some."), { type: "array", items: { type: "string" }, description: "Some." }],
    [record(number()), { type: "object", additionalProperties: { type: "number" } }],
    [object({}), { type: "object", properties: {}, additionalProperties: false }],
    [
      object({
        a: string(),
        b: optional(string("B.")),
        c: optional(number(), 2),
        d: { type: "null" },
      }),
      {
        type: "object",
        properties: {
          a: { type: "string" },
          b: { type: "string", description: "B." },
          c: { type: "number", default: 2 },
          d: { type: "null" },
        },
        required: ["a", "d"],
        additionalProperties: false,
      },
    ],
  ];
  for (const [shape, expected] of cases) {
    assert.deepEqual(shape.schema, expected);
  }
});

test("valid value becomes the tool's value", () => {
  const cases = [
    [string(), "a", "a"],
    [integer(), 5, 5],
    [bigint(), 5, 5n],
    [bigint(), 2n ** 64n, 2n ** 64n],
    [number(), 2n ** 64n, 2 ** 64],
    [any(), { a: [null] }, { a: [null] }],
    [array(bigint()), [1, 2], [1n, 2n]],
    [record(bigint()), { a: 1 }, { a: 1n }],
    [object({ a: bigint(), b: optional(bigint()) }), { a: 1 }, { a: 1n }],
    [object({ a: optional(bigint()) }), { a: 1 }, { a: 1n }],
    [object({ a: optional(array(string()), []) }), {}, { a: [] }],
    [object({ a: optional(boolean(), true) }), { a: false }, { a: false }],
  ];
  for (const [shape, value, expected] of cases) {
    assert.deepEqual(shape.read(value), expected);
  }
});

test("invalid shape is refused", () => {
  const cases = [
    [() => array("string"), /the item of `array\(\)` is neither a shape/],
    [() => object({ a: undefined }), /the field `a` is neither a shape/],
    [() => optional(["a"]), /what is `optional\(\)` is neither a shape/],
  ];
  for (const [make, expected] of cases) {
    assert.throws(make, { name: "DefinitionError", message: expected });
  }
});
