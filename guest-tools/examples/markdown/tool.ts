/**
 * Tools that read web pages: HTML as Markdown, which is what a model reads best and pays least for.
 */

import {
  array,
  boolean,
  integer,
  object,
  optional,
  string,
  tool,
  any,
  type Infer,
} from "#agent-tool";
import { get } from "./fetching.ts";
import { write } from "./markdown.ts";
import { headingsOf, readPage } from "./page.ts";

/** The default number of characters of one part. */
const PAGE_LENGTH = 20_000;

const reading = {
  whole: optional(boolean("Keep menus, headers and footers of the page, too."), false),
  links: optional(boolean("Keep the addresses of links."), true),
  images: optional(boolean("Keep images, as links to them."), false),
  from: optional(integer("Begin at this character of the Markdown.", { minimum: 0 }), 0),
  length: optional(
    integer("The most characters to return.", { minimum: 100, maximum: 100_000 }),
    PAGE_LENGTH,
  ),
};

const html = string("The HTML, of a page or a part of one.", { maxLength: 4_000_000 });
const baseUrl = optional(string("The address of the page, to complete its links with."));

const htmlToMarkdown = tool({
  name: "html_to_markdown",
  title: "HTML to Markdown",
  description: `
    Turns HTML into Markdown: headings, lists, tables, code, quotes and links. Scripts, styles, forms and what is hidden are left
    out, and menus, headers and footers too unless \`whole\` is set. A long page comes in parts.`,
  effect: "read-only",
  input: object({ html, base_url: baseUrl, ...reading }),
  run: ({ html, base_url: base, ...options }) => markdownOf(html, base, options),
});

const readUrl = tool({
  name: "read_page",
  title: "Read a web page",
  description: `
    Gets a web page and gives it as Markdown, as \`html_to_markdown\` does. Use it to read what an address says. A long page
    comes in parts.`,
  effect: "read-only",
  input: object({ url: string("The address, which begins with https:// or http://."), ...reading }),
  run: async ({ url, ...options }) => {
    const got = await get(url);
    return markdownOf(got.html, got.url, options);
  },
});

const outline = tool({
  name: "outline",
  title: "Outline of a page",
  description: `
    Says what is on a page without its text: its title, its description, and its headings with their levels. Use it to find
    out whether a long page is worth reading.`,
  effect: "read-only",
  input: object({ html }),
  output: object({
    title: any("The title of the page, or null."),
    description: any("How the page describes itself, or null."),
    headings: array(object({ level: integer("From 1 to 6."), text: string() }), "In order."),
  }),
  run: ({ html }) => {
    const { title, description, content } = readPage(html, undefined, true);
    return { title, description, headings: headingsOf(content) };
  },
});

type Reading = { [K in keyof typeof reading]: Infer<(typeof reading)[K]> };

/** A page as Markdown, or a part of it with the start of the next. */
function markdownOf(html: string, base: string | undefined, options: Reading): string {
  const { content } = readPage(html, base, options.whole);
  const characters = [...write(content, options)];
  const end = options.from + options.length;
  const part = characters.slice(options.from, end).join("");
  if (end >= characters.length && options.from === 0) {
    return part;
  }
  const next = end < characters.length ? `; the next part begins with \`from\` ${end}` : "";
  const last = Math.min(end, characters.length);
  return `${part}\n\n[Characters ${options.from} to ${last} of ${characters.length}${next}.]`;
}

export default [htmlToMarkdown, readUrl, outline];
