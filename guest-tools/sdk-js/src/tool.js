/**
 * `tool()`: a function as a tool. An invalid one throws when its module is loaded, so it stops the
 * build.
 */

import { DefinitionError, ToolError } from "./failure.js";
import { parse } from "./json.js";
import { error, toOutput } from "./output.js";
import { reflow } from "./prose.js";
import { object, shapeOf } from "./schema.js";

const EFFECTS = ["read-only", "idempotent", "effectful"];
const KEYS = ["name", "title", "description", "effect", "input", "output", "run"];

/** The form that the host and all providers of models take. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** A tool, checked. */
export class Tool {
  constructor({ name, title, description, effect, input, output, run }) {
    this.name = name;
    this.title = title;
    this.description = description;
    this.effect = effect;
    this.input = shapeOf(input ?? object({}), "`input`");
    this.output = output === undefined ? undefined : shapeOf(output, "`output`");
    this.run = run;
  }

  /**
   * Runs a call with its input as JSON text. Errors of the function pass through, except
   * `ToolError`.
   */
  async answer(call, input) {
    try {
      return toOutput(await this.run(this.input.read(parse(input)), call));
    } catch (thrown) {
      if (thrown instanceof ToolError) {
        return error(thrown.message);
      }
      throw thrown;
    }
  }
}

export function tool(definition) {
  const name = definition?.name;
  try {
    check(definition ?? {});
    const made = new Tool({ ...definition, description: reflow(definition.description) });
    if (made.input.schema.type !== "object") {
      throw new DefinitionError(
        '`input` must be an object: `object({...})`, or a schema with `type: "object"`',
      );
    }
    return made;
  } catch (problem) {
    if (problem instanceof DefinitionError) {
      problem.message = `the tool \`${name}\`: ${problem.message}`;
    }
    throw problem;
  }
}

/** The tools of a project by name: what its module exports. */
export function byName(tools) {
  if (!Array.isArray(tools) || tools.length === 0) {
    throw new DefinitionError("the module exports no tools; end it with `export default [myTool]`");
  }
  const all = new Map();
  for (const one of tools) {
    if (!(one instanceof Tool)) {
      throw new DefinitionError("an exported value is no tool; make each one with `tool({...})`");
    }
    if (all.has(one.name)) {
      throw new DefinitionError(`there are two tools \`${one.name}\`; rename one of them`);
    }
    all.set(one.name, one);
  }
  return all;
}

function check(definition) {
  const { name, title, description, effect, run } = definition;
  const unknown = Object.keys(definition).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) {
    throw new DefinitionError(`there is no \`${unknown}\`; a tool has ${KEYS.join(", ")}`);
  }
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new DefinitionError("its name must be 1 to 64 letters, digits, `_` and `-`");
  }
  if (title !== undefined && typeof title !== "string") {
    throw new DefinitionError("`title` must be a string");
  }
  if (typeof description !== "string" || description.trim() === "") {
    throw new DefinitionError(
      "`description` is missing; the model reads it to know what the tool does and when to use it",
    );
  }
  if (!EFFECTS.includes(effect)) {
    const given = effect === undefined ? "is missing" : `is ${JSON.stringify(effect)}`;
    throw new DefinitionError(`\`effect\` ${given}; it is one of ${EFFECTS.join(", ")}`);
  }
  if (typeof run !== "function") {
    throw new DefinitionError("`run` must be a function of the input and the call");
  }
}
