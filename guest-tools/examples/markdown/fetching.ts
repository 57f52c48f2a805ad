/** Getting a page. The host decides which addresses may be reached. */

import { ToolError } from "#agent-tool";

/** The most bytes of a page that are read. */
const MAX_BYTES = 4 * 1024 * 1024;

/** A fetched page: its HTML and its address. */
export interface Got {
  html: string;
  url: string;
}

/** Gets a page. Anything else is an error that says what the model can do. */
export async function get(address: string): Promise<Got> {
  const url = pageAt(address);
  const response = await ask(url);
  const moved = response.headers.get("location");
  if (response.status >= 300 && response.status < 400 && moved !== null) {
    throw new ToolError(`${url} has moved to ${new URL(moved, url)}; call again with that address`);
  }
  if (!response.ok) {
    throw new ToolError(`${url} answered with status ${response.status}; try another address`);
  }
  const type = response.headers.get("content-type") ?? "text/html";
  if (!/^(text\/html|application\/xhtml\+xml)\b/i.test(type)) {
    throw new ToolError(`${url} is ${type} and no HTML; fetch it with another tool`);
  }
  const body = await response.arrayBuffer();
  if (body.byteLength > MAX_BYTES) {
    throw new ToolError(`${url} has ${body.byteLength} bytes, more than ${MAX_BYTES}`);
  }
  return { html: decode(body, type), url: url.href };
}

function pageAt(address: string): URL {
  try {
    const url = new URL(address);
    if (url.protocol === "https:" || url.protocol === "http:") {
      return url;
    }
  } catch {
    // Told below, as is an address of another kind.
  }
  throw new ToolError(
    `\`${address}\` is not the address of a page; give one that begins with https:// or http://`,
  );
}

async function ask(url: URL): Promise<Response> {
  try {
    return await fetch(url, { headers: { accept: "text/html" } });
  } catch (problem) {
    throw new ToolError(
      `cannot reach ${url}: ${problem instanceof Error ? problem.message : problem}`,
    );
  }
}

/** The text in the encoding that the answer names, or else in UTF-8. */
function decode(body: ArrayBuffer, type: string): string {
  const name = /charset="?([\w-]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(name).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}
