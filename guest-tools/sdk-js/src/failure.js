/** What goes wrong in a tool: what it says on purpose, and what is a mistake in how it is written. */

/** A failure that the model reads. Say what went wrong, and what it should do next. */
export class ToolError extends Error {
  name = "ToolError";
}

/** A tool that cannot be offered as it is written. It stops the build. */
export class DefinitionError extends Error {
  name = "DefinitionError";
}
