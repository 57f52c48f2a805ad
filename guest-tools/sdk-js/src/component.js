/**
 * The component: the exports of the entry that `build.mjs` writes. Code at the top of modules runs
 * when the component is built; each call then starts with a fresh copy of its state.
 */

import { connect } from "./host.js";
import { stringify } from "./json.js";
import { error } from "./output.js";
import { explain } from "./stack.js";
import { byName } from "./tool.js";

/**
 * The interface `tool` of the contract.
 *
 * @param exported what the project's module exports
 * @param imports the functions of the contract's interfaces, by the names in `uses`
 * @param origins where the lines of the bundle come from
 */
export function serve(exported, imports, origins) {
  const tools = byName(exported);
  connect(imports);
  return {
    definitions: () => [...tools.values()].map(definition),
    async call({ id, name, input, idempotencyKey }) {
      const tool = tools.get(name);
      if (tool === undefined) {
        return error(`this component has no tool \`${name}\``);
      }
      try {
        return await tool.answer({ id, name, idempotencyKey }, input);
      } catch (thrown) {
        console.error(explain(thrown, origins));
        // The engine ends the instance with what it is given here, and prints it: a short line,
        // since all is said.
        throw "the call ends here";
      }
    },
  };
}

function definition({ name, title, description, effect, input, output }) {
  return {
    name,
    title,
    description,
    inputSchema: stringify(input.schema),
    outputSchema: output === undefined ? undefined : stringify(output.schema),
    effect,
  };
}
