/** Errors of a tool: those for the model, and mistakes in the tool's definition. */

/** A failure that the model reads. Say what went wrong, and what it should do next. */
export class ToolError extends Error {
  name = "ToolError";
}

/** A tool that cannot be offered as it is written. It stops the build. */
export class DefinitionError extends Error {
  name = "DefinitionError";
}
