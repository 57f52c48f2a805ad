/** A part of a page as Markdown, with the tables and deletions of GitHub's kind. */

import TurndownService from "turndown";
import { all } from "./page.ts";

/** Options: the parts of a page to keep besides its text. */
export interface Kept {
  /** True to keep the addresses of links. */
  links: boolean;
  /** True to keep images; otherwise only their alternative texts are kept. */
  images: boolean;
}

/** Writes Markdown. */
export function write(content: HTMLElement, kept: Kept): string {
  const service = new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
    hr: "---",
  });
  service.addRule("deleted", {
    filter: ["del", "s"],
    replacement: (text) => `~~${text}~~`,
  });
  service.addRule("table", {
    filter: "table",
    replacement: (_text, node) => `\n\n${table(node as HTMLElement, service)}\n\n`,
  });
  service.addRule("words of a link", {
    filter: (node) => node.nodeName === "A" && !(kept.links && node.getAttribute("href")),
    replacement: (text) => text,
  });
  service.addRule("words of an image", {
    filter: (node) => node.nodeName === "IMG" && !(kept.images && node.getAttribute("src")),
    replacement: (_text, node) => (node as HTMLElement).getAttribute("alt") ?? "",
  });
  return service.turndown(content);
}

/** The rows of a table, the first of which is its head. */
function table(node: HTMLElement, service: TurndownService): string {
  const rows = all(node, "tr")
    .filter((row) => row.closest("table") === node)
    .map((row) => Array.from(row.children).map((cell) => oneCell(cell as HTMLElement, service)));
  const width = Math.max(0, ...rows.map((row) => row.length));
  const [head, ...body] = rows.map((row) => [...row, ...new Array(width - row.length).fill("")]);
  if (head === undefined || width === 0) {
    return "";
  }
  const lines = [head, new Array(width).fill("---"), ...body];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A cell holds one line, in which a `|` would begin the next cell. */
function oneCell(cell: HTMLElement, service: TurndownService): string {
  return service.turndown(cell).replace(/\s+/g, " ").replace(/\|/g, "\\|");
}
