/** The failures of the functions of `artifacts`. */

import { ToolError } from "./failure.js";

const TEXTS = {
  "not-found": (name) => `there is no artifact \`${name}\``,
  denied: (name) =>
    `\`${name}\` is denied: the tool has no grant for artifacts, or only one to read`,
  "invalid-name": (name) =>
    `\`${name}\` cannot be the name of an artifact: it must be a relative path such as \`plots/one.png\`, and not in \`results/\``,
  "invalid-media-type": (name) =>
    `the media type of the artifact \`${name}\` is malformed, or does not agree with its bytes`,
  "too-large": (name) => `the artifact \`${name}\` is larger than one call may move`,
  "quota-exceeded": (name) =>
    `the artifact \`${name}\` cannot be kept: the artifacts of the session have used up their quota`,
};

/** A failure of one of the functions of `artifacts`. Uncaught, its text is for the model. */
export class ArtifactError extends ToolError {
  name = "ArtifactError";

  constructor(code, artifact) {
    super(TEXTS[code](artifact));
    this.code = code;
  }
}

/** The failure that an import threw, whose `payload` is its case; anything else as it is. */
export function failureOf(thrown, artifact) {
  const code = thrown?.payload;
  return Object.hasOwn(TEXTS, code ?? "") ? new ArtifactError(code, artifact) : thrown;
}
