/**
 * JSON with integers that are exact at any size: those that a `number` cannot hold are `bigint`.
 */

/** Reads JSON. */
export function parse(text) {
  // Only a number of at least 16 digits can be one that a `number` cannot hold.
  return /\d{16}/.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
}

/**
 * Writes JSON. A value without a JSON form is refused, where `JSON.stringify` alone would change
 * it.
 */
export function stringify(value) {
  const written = JSON.stringify(value, writable);
  if (written === undefined) {
    throw new TypeError(`${describe(value)} has no JSON form`);
  }
  return written;
}

function exact(_key, value, context) {
  const unsafe = typeof value === "number" && !Number.isSafeInteger(value);
  return unsafe && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}

function writable(key, value) {
  if (typeof value === "bigint") {
    return JSON.rawJSON(value.toString());
  }
  const lost =
    (typeof value === "number" && !Number.isFinite(value)) ||
    value instanceof Map ||
    value instanceof Set ||
    ArrayBuffer.isView(value);
  if (lost) {
    const place = key === "" ? "" : ` at \`${key}\``;
    throw new TypeError(`${describe(value)}${place} has no JSON form`);
  }
  return value;
}

function describe(value) {
  return typeof value === "object" ? `a value of type ${value.constructor.name}` : String(value);
}
