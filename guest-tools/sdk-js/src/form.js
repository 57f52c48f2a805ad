/**
 * Forms: shapes as JSON Schemas of one flat object, in the subset of MCP's form elicitation.
 */

import { DefinitionError } from "./failure.js";
import { Shape, shapeOf } from "./schema.js";

const TYPES = ["string", "number", "integer", "boolean"];

/** The shape of a form: of `object({...})`, or of a JSON Schema, which is taken as it is. */
export function formOf(form) {
  if (!(form instanceof Shape)) {
    return shapeOf(form, "a form");
  }
  const { type, properties, required } = form.schema;
  if (type !== "object" || properties === undefined) {
    throw new DefinitionError("a form must be `object({...})`");
  }
  for (const [name, field] of Object.entries(properties)) {
    if (!TYPES.includes(field.type)) {
      throw new DefinitionError(
        `the field \`${name}\` of the form is not flat: a field is a string, an integer, a number, a boolean or an enumOf() of strings`,
      );
    }
  }
  return new Shape({ type, properties, ...(required && { required }) }, form.read);
}
