/**
 * The part of domino that is used here, in the types of browsers, which it follows. Its own types
 * are under another name.
 */
declare module "@mixmark-io/domino" {
  /** Reads a page as browsers do. */
  export function createDocument(html: string): Document;
}
