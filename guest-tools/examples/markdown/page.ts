/** The readable content of a page: without scripts and forms, and with absolute addresses. */

import { createDocument } from "@mixmark-io/domino";

/** Elements that are never content. */
const UNSEEN = [
  "script, style, template, noscript, iframe, object, embed, canvas, svg",
  "button, input, select, textarea, dialog, [hidden], [aria-hidden=true]",
].join();

/** Elements around the content of a page: navigation, and parts that every page of a site has. */
const AROUND = "nav, header, footer, aside, form";

/** Addresses that a reader can follow. Others, such as `javascript:`, are left out. */
const FOLLOWED = new Set(["http:", "https:", "mailto:"]);

/** A page, read. */
export interface Page {
  /** The title of the page. */
  title: string | null;
  /** The page's description of itself. */
  description: string | null;
  /** The content. */
  content: HTMLElement;
}

/** A heading, from 1 for the highest. */
export interface Heading {
  level: number;
  text: string;
}

/**
 * Reads a page.
 *
 * @param base the address of the page, which its relative addresses are completed with; a `<base>` of its own goes first
 * @param whole whether what surrounds the main content is kept
 */
export function readPage(html: string, base: string | undefined, whole: boolean): Page {
  const page = createDocument(html);
  const description = page.querySelector("meta[name=description]")?.getAttribute("content");
  const own = page.querySelector("base")?.getAttribute("href");
  remove(page.body, UNSEEN);
  for (const name of ["href", "src"]) {
    completeAddresses(page.body, name, own ? (complete(own, base) ?? base) : base);
  }
  return {
    title: oneLine(page.title),
    description: oneLine(description ?? ""),
    content: whole ? page.body : mainOf(page.body),
  };
}

/** The headings in a page, in order. */
export function headingsOf(content: HTMLElement): Heading[] {
  return all(content, "h1, h2, h3, h4, h5, h6").map((heading) => ({
    level: Number(heading.tagName.slice(1)),
    text: oneLine(heading.textContent ?? "") ?? "",
  }));
}

/**
 * The content of a page: its `main`, or its one `article`, or else everything but navigation,
 * headers and footers.
 */
function mainOf(body: HTMLElement): HTMLElement {
  for (const name of ["main", "article"]) {
    const [found, another] = all(body, name);
    if (found !== undefined && another === undefined) {
      return found;
    }
  }
  remove(body, AROUND);
  return body;
}

/**
 * A snapshot of the elements that match a selector: domino's own lists change with the page, and
 * are not iterable.
 */
export function all(root: HTMLElement, selector: string): HTMLElement[] {
  return Array.from(root.querySelectorAll<HTMLElement>(selector));
}

function remove(body: HTMLElement, selector: string): void {
  for (const element of all(body, selector)) {
    element.remove();
  }
}

/** Makes addresses absolute, and removes those that no reader can follow. */
function completeAddresses(body: HTMLElement, name: string, base: string | undefined): void {
  for (const element of all(body, `[${name}]`)) {
    const whole = complete(element.getAttribute(name) ?? "", base);
    if (whole === undefined) {
      element.removeAttribute(name);
    } else {
      element.setAttribute(name, whole);
    }
  }
}

function complete(address: string, base: string | undefined): string | undefined {
  try {
    const url = new URL(address, base);
    return FOLLOWED.has(url.protocol) ? url.href : undefined;
  } catch {
    // A relative address of a page whose own address is not known stays as it is.
    return /^\s*[a-z][a-z0-9+.-]*:/i.test(address) ? undefined : address;
  }
}

/** The text in one line; null if there is none. */
function oneLine(text: string): string | null {
  return text.replace(/\s+/g, " ").trim() || null;
}
