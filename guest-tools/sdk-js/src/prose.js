/**
 * Descriptions as prose: they are wrapped for an editor, and models and users read them as
 * paragraphs.
 */

/** Joins the lines of each paragraph. Blank lines and list items stay. */
export function reflow(text) {
  let out = "";
  let afterBlank = false;
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") {
      afterBlank = true;
      continue;
    }
    if (out !== "") {
      const item = line.startsWith("- ") || line.startsWith("* ");
      out += afterBlank ? "\n\n" : item ? "\n" : " ";
    }
    out += line;
    afterBlank = false;
  }
  return out;
}
