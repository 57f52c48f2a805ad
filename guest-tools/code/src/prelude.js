// The globals beside those of the language, made of the functions of the host: `console`, `fs`, `fetch`, `output`, timers and
// text encoders. Evaluated before the code; returns what the host calls.
(function (host) {
    "use strict";
    const { parse, stringify, rawJSON } = JSON;
    const { isArray } = Array;
    const global = globalThis;
    // What the host gets is UTF-8, which has no halves of a surrogate pair: U+FFFD stands for one.
    const wellFormed = Function.prototype.call.bind(String.prototype.toWellFormed);

    const define = (name, value) =>
        Object.defineProperty(global, name, { value, writable: true, configurable: true, enumerable: false });

    // Integers that a number cannot hold exactly. A number that is written with a fraction or an exponent is no integer.
    const isUnsafe = (value) => typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    const INTEGER = /^-?\d+$/;

    // JSON with exact integers: those above 2^53 are BigInt, and BigInt is written as a number.
    JSON.parse = function (text, reviver) {
        const source = String(text);
        if (!/\d{16}/.test(source)) return parse(source, reviver);
        const exact = (value, context) =>
            isUnsafe(value) && INTEGER.test(context.source) ? BigInt(context.source) : value;
        return parse(source, function (key, value, context) {
            value = exact(value, context);
            return typeof reviver === "function" ? reviver.call(this, key, value, context) : value;
        });
    };
    JSON.stringify = function (value, replacer, space) {
        if (Array.isArray(replacer)) return stringify(value, replacer, space);
        return stringify(value, function (key, value) {
            if (typeof replacer === "function") value = replacer.call(this, key, value);
            return typeof value === "bigint" ? rawJSON(value.toString()) : value;
        }, space);
    };

    // The same for the calls of tools, whatever the code makes of the global.
    const { parse: JSON_parse, stringify: JSON_stringify } = JSON;

    // A value as the console shows it.
    const MAX_DEPTH = 6;
    const MAX_ITEMS = 200;
    const show = (value, depth = 0, above = []) => {
        switch (typeof value) {
            case "string": return depth === 0 ? value : stringify(value);
            case "bigint": return `${value}n`;
            case "function": return value.name ? `[Function ${value.name}]` : "[Function]";
            case "number": return Object.is(value, -0) ? "-0" : String(value);
            case "object": break;
            default: return String(value);
        }
        if (value === null) return "null";
        if (above.includes(value)) return "[Circular]";
        if (value instanceof Error) return depth === 0 ? describe(value) : `[${value.name}: ${value.message}]`;
        if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
        if (value instanceof RegExp) return String(value);
        if (value instanceof Promise) return "Promise";
        if (depth > MAX_DEPTH) return Array.isArray(value) ? "[Array]" : "[Object]";
        const inner = (item) => show(item, depth + 1, [...above, value]);
        const list = (open, close, items, count) => {
            const shown = items.join(", ") + (count > MAX_ITEMS ? `, ... ${count - MAX_ITEMS} more` : "");
            return shown === "" ? open + close : `${open} ${shown} ${close}`;
        };
        const first = (items) => Array.from(items).slice(0, MAX_ITEMS);
        if (Array.isArray(value)) return list("[", "]", first(value).map(inner), value.length);
        if (ArrayBuffer.isView(value) && "length" in value) {
            const items = Array.from(value.subarray(0, MAX_ITEMS), String);
            return `${value.constructor.name}(${value.length}) ${list("[", "]", items, value.length)}`;
        }
        if (value instanceof Map) {
            const items = first(value).map(([key, item]) => `${inner(key)} => ${inner(item)}`);
            return `Map(${value.size}) ${list("{", "}", items, value.size)}`;
        }
        if (value instanceof Set) return `Set(${value.size}) ${list("{", "}", first(value).map(inner), value.size)}`;
        const keys = Object.keys(value);
        const name = (key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? key : stringify(key));
        const items = keys.slice(0, MAX_ITEMS).map((key) => `${name(key)}: ${inner(value[key])}`);
        return list("{", "}", items, keys.length);
    };

    // An exception as the model reads it: its name and message, the lines of the code, and its cause.
    const MAX_CAUSES = 8;
    const describe = (error, causes = 0) => {
        if (!(error instanceof Error)) return wellFormed(`thrown: ${show(error, 1)}`);
        const frames = String(error.stack ?? "").split("\n");
        const own = frames.filter((frame) => frame.includes("code.js"));
        const isLast = error.cause === undefined || causes === MAX_CAUSES;
        const cause = isLast ? [] : [`caused by ${describe(error.cause, causes + 1)}`];
        return wellFormed([`${error.name}: ${error.message}`, ...own, ...cause].join("\n"));
    };

    const print = (line) => host.print(wellFormed(line));
    const log = (prefix) => (...values) => print(prefix + values.map((value) => show(value)).join(" "));
    const timed = new Map();
    define("console", {
        log: log(""), info: log(""), debug: log(""), warn: log("warning: "), error: log("error: "),
        table: log(""), dir: (value) => print(show(value, 1)),
        assert: (holds, ...values) => {
            if (!holds) log("assertion failed: ")(...values);
        },
        time: (label = "default") => void timed.set(label, Date.now()),
        timeEnd: (label = "default") => print(`${label}: ${Date.now() - (timed.get(label) ?? Date.now())} ms`),
    });

    // Text and bytes. All text is UTF-8.
    const bytesOf = (data) => {
        if (typeof data === "string") return host.encode(wellFormed(data));
        if (data instanceof ArrayBuffer) return new Uint8Array(data);
        if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
        throw new TypeError("the data has to be a string, an ArrayBuffer or a view of one");
    };
    define("TextEncoder", class TextEncoder {
        get encoding() { return "utf-8"; }
        encode(text = "") { return host.encode(wellFormed(String(text))); }
    });
    define("TextDecoder", class TextDecoder {
        #fatal;
        constructor(label = "utf-8", options = {}) {
            if (!/^utf-?8$/i.test(label)) throw new RangeError(`only utf-8 is decoded here, and not ${label}`);
            this.#fatal = options.fatal === true;
        }
        get encoding() { return "utf-8"; }
        decode(data = new Uint8Array()) { return host.decode(bytesOf(data), this.#fatal); }
    });
    const clone = (value, seen = new Map()) => {
        if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`a ${typeof value} cannot be cloned`);
        if (typeof value !== "object" || value === null) return value;
        if (seen.has(value)) return seen.get(value);
        if (value instanceof Date) return new Date(value);
        if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.slice();
        const copy = Array.isArray(value) ? [] : value instanceof Map ? new Map() : value instanceof Set ? new Set() : {};
        seen.set(value, copy);
        const inner = (item) => clone(item, seen);
        if (value instanceof Map) value.forEach((item, key) => copy.set(inner(key), inner(item)));
        else if (value instanceof Set) value.forEach((item) => copy.add(inner(item)));
        else for (const key of Object.keys(value)) Object.defineProperty(copy, key, {
            value: inner(value[key]), writable: true, enumerable: true, configurable: true,
        });
        return copy;
    };
    define("structuredClone", (value) => clone(value));

    // Timers. Nothing else can happen meanwhile, so none of them waits: they run in the order of their times.
    let clock = 0;
    let count = 0;
    const timers = new Map();
    const start = (repeats) => (callback, delay = 0, ...args) => {
        const every = Math.max(Number(delay) || 0, repeats ? 1 : 0);
        timers.set(++count, { due: clock + every, every: repeats ? every : undefined, run: () => callback(...args) });
        return count;
    };
    const stop = (id) => void timers.delete(id);
    define("setTimeout", start(false));
    define("setInterval", start(true));
    define("clearTimeout", stop);
    define("clearInterval", stop);
    const runTimer = () => {
        let next;
        for (const [id, timer] of timers) {
            if (next === undefined || timer.due < timers.get(next).due) next = id;
        }
        if (next === undefined) return false;
        const timer = timers.get(next);
        clock = timer.due;
        if (timer.every === undefined) timers.delete(next);
        else timer.due += timer.every;
        timer.run();
        return true;
    };

    // Files of the granted directories, and artifacts of the session below `/session`, by the names of Node.js.
    const encodingOf = (options) => (typeof options === "string" ? options : options?.encoding);
    const sync = {
        readFileSync(path, options) {
            const bytes = host.read(String(path));
            const encoding = encodingOf(options);
            if (encoding === undefined || encoding === null || encoding === "buffer") return bytes;
            return new TextDecoder(encoding, { fatal: true }).decode(bytes);
        },
        writeFileSync: (path, data) => host.write(String(path), bytesOf(data), false),
        appendFileSync: (path, data) => host.write(String(path), bytesOf(data), true),
        existsSync(path) {
            try {
                host.stat(String(path));
                return true;
            } catch (error) {
                if (error.code === "ENOENT" || error.code === "ENOTDIR") return false;
                throw error;
            }
        },
        statSync: (path) => entry(host.stat(String(path))),
        readdirSync(path, options) {
            const entries = host.list(String(path));
            return options?.withFileTypes === true ? entries.map(entry) : entries.map(({ name }) => name);
        },
        mkdirSync: (path, options) => host.mkdir(String(path), options?.recursive === true),
        rmSync(path, options) {
            if (options?.force !== true || sync.existsSync(path)) host.remove(String(path), options?.recursive === true);
        },
        unlinkSync: (path) => host.remove(String(path), false),
        rmdirSync: (path) => host.remove(String(path), false),
        renameSync: (from, to) => host.rename(String(from), String(to)),
        copyFileSync: (from, to) => host.write(String(to), host.read(String(from)), false),
    };
    const entry = ({ name, kind, size, modified }) => ({
        name, size, mtimeMs: modified, mtime: new Date(modified ?? NaN),
        isFile: () => kind === "file", isDirectory: () => kind === "directory", isSymbolicLink: () => kind === "link",
    });
    const promises = {};
    for (const [name, run] of Object.entries(sync)) {
        if (name !== "existsSync") promises[name.replace("Sync", "")] = async (...args) => run(...args);
    }
    const fs = { ...sync, promises };
    define("fs", fs);
    const modules = { fs, "fs/promises": promises };
    define("require", (name) => {
        const found = modules[String(name).replace(/^node:/, "")];
        if (found === undefined) throw new Error(`there is no module "${name}" here, only "fs" and "fs/promises"`);
        return found;
    });

    // Requests to the granted hosts.
    define("Headers", class Headers {
        #fields = new Map();
        constructor(from = []) {
            const fields = typeof from[Symbol.iterator] === "function" ? from : Object.entries(from);
            for (const [name, value] of fields) this.append(name, value);
        }
        append(name, value) {
            const key = String(name).toLowerCase();
            const known = this.#fields.get(key);
            this.#fields.set(key, known === undefined ? String(value) : `${known}, ${value}`);
        }
        set(name, value) { this.#fields.set(String(name).toLowerCase(), String(value)); }
        get(name) { return this.#fields.get(String(name).toLowerCase()) ?? null; }
        has(name) { return this.#fields.has(String(name).toLowerCase()); }
        delete(name) { this.#fields.delete(String(name).toLowerCase()); }
        [Symbol.iterator]() { return this.#fields.entries(); }
        entries() { return this.#fields.entries(); }
        keys() { return this.#fields.keys(); }
        values() { return this.#fields.values(); }
        forEach(run) { this.#fields.forEach((value, name) => run(value, name, this)); }
    });
    class Response {
        #body;
        constructor({ status, url, redirected, headers, body }) {
            this.#body = body;
            this.headers = new Headers(headers);
            Object.assign(this, { status, url, redirected, ok: status >= 200 && status < 300 });
        }
        async bytes() { return this.#body; }
        async arrayBuffer() { return this.#body.buffer; }
        async text() { return host.decode(this.#body, false); }
        async json() { return JSON.parse(host.decode(this.#body, false)); }
    }
    define("Response", Response);
    define("fetch", async (address, options = {}) => {
        const headers = [...new Headers(options.headers ?? [])];
        const body = options.body === undefined || options.body === null ? undefined : bytesOf(options.body);
        return new Response(host.fetch(String(address), String(options.method ?? "GET").toUpperCase(), headers, body));
    });

    // Images and files beside the value.
    const output = {
        image: (data, name) => host.part(bytesOf(data), name, undefined, true),
        file: (data, name, mediaType) => host.part(bytesOf(data), name, mediaType, false),
    };
    define("output", output);

    // The tools of a program, which has nothing else: no files and no requests of its own. A file of a result is a handle.
    const queue = [];
    class ToolFile {
        #handle;
        constructor({ mediaType, filename, handle, content }) {
            this.#handle = handle;
            Object.assign(this, { mediaType, filename });
            if (content !== undefined) this.text = content;
        }
        static putOut(file) {
            if (file.#handle === undefined) host.part(bytesOf(file.text), file.filename, file.mediaType, false);
            else host.file(file.#handle, file.mediaType, file.filename);
        }
    }
    class ToolError extends Error {
        constructor(message, fields) {
            super(message);
            Object.assign(this, fields);
        }
        get name() { return "ToolError"; }
    }
    const inputOf = (input) => {
        const json = input === undefined ? "{}" : JSON_stringify(input);
        if (json === undefined) throw new TypeError(`the input of a tool is an object, and not a ${typeof input}`);
        return json;
    };
    const errorOf = (tool, { kind, text }) => {
        if (kind === "error-text") return new ToolError(text, { tool });
        if (kind === "execution-denied") return new ToolError(text ?? "Tool call execution denied.", { tool, denied: true });
        const value = JSON_parse(text);
        const message = typeof value?.message === "string" ? value.message : text;
        return new ToolError(message, { tool, value });
    };
    const resultOf = ({ kind, text, parts }) => {
        if (kind === "text") return text;
        if (kind === "json") return JSON_parse(text);
        return parts.map((part) => (part.mediaType === undefined ? part.text : new ToolFile(part)));
    };
    const runCalls = () => {
        const batch = queue.splice(0);
        if (batch.length === 0) return false;
        const results = host.call(batch.map(({ name }) => name), batch.map(({ input }) => input));
        batch.forEach(({ name, resolve, reject, stack }, index) => {
            const result = results[index];
            if (result.kind === "text" || result.kind === "json" || result.kind === "content") resolve(resultOf(result));
            else reject(Object.defineProperty(errorOf(name, result), "stack", { value: stack }));
        });
        return true;
    };
    if (host.tools.length > 0) {
        for (const name of ["fs", "require", "fetch", "Headers", "Response"]) delete global[name];
        const functions = Object.create(null);
        for (const name of host.tools) {
            functions[name] = (input) => new Promise((resolve, reject) => {
                queue.push({ name, input: inputOf(input), resolve, reject, stack: new Error().stack });
            });
        }
        define("tools", new Proxy(Object.freeze(functions), {
            get(known, name) {
                if (typeof name === "symbol" || name === "then" || name in known) return known[name];
                throw new ReferenceError(`there is no tool "${name}"; the tools are ${host.tools.join(", ")}`);
            },
        }));
        define("output", Object.assign((file) => {
            if (!(file instanceof ToolFile)) throw new TypeError("output(file) takes a file of a result");
            ToolFile.putOut(file);
        }, output));
    }

    // The value of the code as JSON, with notes to the host about what JSON or a number cannot hold.
    const MAX_LENGTH = 1_000_000;
    const valueOf = (value) => {
        if (value === undefined) return undefined;
        if (typeof value === "function" || typeof value === "symbol") {
            host.note(`the value is a ${typeof value}, which is no data`);
            return undefined;
        }
        return stringify(value, (key, value) => {
            if (typeof value === "bigint") {
                if (BigInt.asIntN(64, value) === value || BigInt.asUintN(64, value) === value) return rawJSON(value.toString());
                host.note("integers of more than 64 bits are strings");
                return value.toString();
            }
            if (isUnsafe(value)) host.note("integers above 2^53 may be rounded; use BigInt, such as 1n, to compute with them");
            if (typeof value === "number" && !Number.isFinite(value)) {
                host.note("NaN and infinities are null");
                return null;
            }
            // Holes are null, and an array of a few items may be that long.
            if (isArray(value) && value.length > MAX_LENGTH) {
                throw new RangeError(`an array of ${value.length} items is too long; return less of it`);
            }
            if (value instanceof Map) {
                const isObject = [...value.keys()].every((key) => typeof key === "string");
                return isObject ? Object.fromEntries(value) : [...value];
            }
            if (value instanceof Set) return [...value];
            if (value instanceof ToolFile) {
                ToolFile.putOut(value);
                return { mediaType: value.mediaType, filename: value.filename };
            }
            if (value instanceof Error) return { name: value.name, message: value.message };
            if (ArrayBuffer.isView(value) && "length" in value) return Array.from(value);
            return value;
        });
    };

    return { valueOf, describe, runTimer, runCalls };
})
