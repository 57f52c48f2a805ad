/**
 * Write a tool for agent-host as a function over a described input. `README.md` has a complete
 * example, and `index.d.ts` the types.
 */

export { ArtifactError } from "./src/artifacts.js";
export { artifacts, ask, askForm, context, halt, partial, progress, state } from "./src/host.js";
export {
  content,
  denied,
  error,
  errorJson,
  file,
  fileUrl,
  image,
  json,
  text,
} from "./src/output.js";
export {
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
} from "./src/schema.js";
export { tool } from "./src/tool.js";
export { ToolError } from "./src/failure.js";
