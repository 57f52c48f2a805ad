/**
 * Tool results: the union of the contract as plain values, and the conversions to its variants. The
 * variant is chosen by type, never by inspecting a value.
 */

import { stringify } from "./json.js";

/** The result of a call, in the form of the contract: the variant and its value. */
export class Output {
  constructor(tag, val) {
    this.tag = tag;
    this.val = val;
  }
}

/** One part of a result with several, in the form of the contract. */
export class Part {
  constructor(tag, val) {
    this.tag = tag;
    this.val = val;
  }
}

export function text(value) {
  return new Output("text", utf8(value, "text()"));
}

export function json(value) {
  return new Output("json", stringify(value));
}

export function content(parts) {
  return new Output("content", [...parts].map(partOf));
}

export function image(data, mediaType = "image/png", filename = undefined) {
  return fileOf("bytes", bytes(data, "image()"), mediaType, filename);
}

export function file(data, mediaType, filename = undefined) {
  return typeof data === "string"
    ? fileOf("text", utf8(data, "file()"), mediaType, filename)
    : fileOf("bytes", bytes(data, "file()"), mediaType, filename);
}

export function fileUrl(url, mediaType, filename = undefined) {
  return fileOf("url", utf8(String(url), "fileUrl()"), mediaType, filename);
}

export function error(message) {
  return new Output("error-text", utf8(message, "error()"));
}

export function errorJson(value) {
  return new Output("error-json", stringify(value));
}

export function denied(reason = undefined) {
  return new Output(
    "execution-denied",
    reason === undefined ? undefined : utf8(reason, "denied()"),
  );
}

/** Converts the value that a tool's function returned to a variant. */
export function toOutput(value) {
  if (value instanceof Output) {
    return value;
  }
  if (value instanceof Part) {
    return content([value]);
  }
  if (typeof value === "string") {
    return text(value);
  }
  if (value === undefined) {
    throw new TypeError(
      "the tool returned nothing; return text or a value, or `null` for a JSON null",
    );
  }
  return json(value);
}

function partOf(part) {
  return part instanceof Part ? part : new Part("text", utf8(part, "content()"));
}

function fileOf(kind, data, mediaType, filename) {
  return new Part("file", {
    mediaType: utf8(mediaType, "a media type"),
    data: { tag: kind, val: data },
    filename: filename === undefined ? undefined : utf8(filename, "a filename"),
  });
}

/** Bytes, however they are held. */
export function bytes(data, what) {
  if (data instanceof ArrayBuffer) {
    return new Uint8Array(data);
  }
  if (ArrayBuffer.isView(data)) {
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  }
  throw new TypeError(`${what} takes a Uint8Array and not ${typeof data}`);
}

/** A string that has a UTF-8 form, which one with half of a surrogate pair has not. */
export function utf8(value, what) {
  if (typeof value !== "string") {
    throw new TypeError(`${what} takes a string and not ${typeof value}`);
  }
  if (!value.isWellFormed()) {
    throw new TypeError(
      `${what} got a string with half of a surrogate pair, which has no UTF-8 form`,
    );
  }
  return value;
}
