/**
 * The tools of my-tool. Each is a function over a described input: the description is what the
 * model reads, and the host checks every call against it.
 */

import {
  ToolError,
  enumOf,
  image,
  integer,
  object,
  optional,
  state,
  string,
  tool,
} from "#agent-tool";
import { png } from "./png.js";

const greet = tool({
  name: "greet",
  description: "Greets a user by name.",
  effect: "read-only",
  input: object({
    name: string("The name of the user to greet."),
    tone: optional(enumOf(["friendly", "formal"], "The tone of the greeting."), "friendly"),
  }),
  run: ({ name, tone }) => (tone === "formal" ? `Good day, ${name}.` : `Hello, ${name}!`),
});

const countWords = tool({
  name: "count_words",
  description: "Counts the words and the characters of a text. Words are separated by white space.",
  effect: "read-only",
  input: object({ text: string("The text to count in.") }),
  output: object({
    words: integer("The number of words."),
    characters: integer("The number of characters."),
  }),
  run: ({ text }) => ({
    words: text.match(/\S+/g)?.length ?? 0,
    characters: Array.from(text).length,
  }),
});

const swatch = tool({
  name: "swatch",
  description: "Shows a colour as a small image.",
  effect: "read-only",
  input: object({ colour: string("The colour, as #rrggbb.") }),
  run: ({ colour }) => image(png(parse(colour))),
});

const keepNote = tool({
  name: "keep_note",
  description: "Keeps a note for the rest of the session. A note with the same title is replaced.",
  effect: "idempotent",
  input: object({ title: string("The subject of the note."), text: string("The note itself.") }),
  run: ({ title, text }) => {
    state.merge({ notes: { [title]: text } });
    return `Kept the note on ${title}.`;
  },
});

/** Red, green and blue of `#rrggbb`. */
export function parse(colour) {
  if (!/^#[0-9a-f]{6}$/i.test(colour)) {
    throw new ToolError(`\`${colour}\` is no colour; write it as #rrggbb, such as #1e90ff`);
  }
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return Uint8Array.of(red, green, blue);
}

export default [greet, countWords, swatch, keepNote];
