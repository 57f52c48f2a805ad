// A browser, the page in it, and what every test of the page needs.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

export const [name, base, token, argument] = process.argv.slice(2);
const require = createRequire(`${process.env.PAGE_PACKAGES}/package.json`);
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// The smaller program starts sooner, and has no viewer of PDFs.
const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
export const browser = await chromium.launch({
  executablePath: process.env.PAGE_BROWSER ?? PROGRAMS.find((path) => existsSync(path)),
  // Its own sandbox does not start as root.
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});

/** The most that a test waits for the page. A component that it needs may have to be compiled first. */
const TIMEOUT_MS = 180_000;

/** The faults of all pages: no text of a model or a tool may cause one. */
export const faults = [];

/** What a browser says on its own of requests that fail: refused ones, and those of no server. */
const EXPECTED = /status of (4\d\d|502)|ERR_(INTERNET_DISCONNECTED|CONNECTION_\w+|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)/;

/** A task of the main thread that takes longer is felt, on a machine that does `work` in `WORK_MS`. */
const LONGEST_TASK_MS = 50;
const WORK_MS = 10;

/** How often the fixed work is done to learn what it takes. */
const WORKS = 9;

/** Builds and lays out a fixed piece of page. */
function work(times) {
  for (let time = 0; time < times; time += 1) {
    const list = document.createElement("ul");
    for (let item = 0; item < 400; item += 1) {
      const line = document.createElement("li");
      line.textContent = `Line ${item}`;
      list.append(line);
    }
    document.body.append(list);
    list.getBoundingClientRect();
    list.remove();
  }
}

/** Opens a link in a browser of its own. */
export async function openLink(address) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 } });
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  await page.goto(address);
  await page.waitForFunction(() => !location.hash.includes("link="));
  return page;
}

/** Opens the page with a token, and returns it once it shows its first view. */
export async function open(hash = "", { as = token, ready = "#message", ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("crash", () => faults.push("the page crashed"));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !EXPECTED.test(message.text())) faults.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (![base, `blob:${base}`, "chrome-extension:", "chrome:"].some((own) => url.startsWith(own))) faults.push(`request: ${url}`);
  });
  if (process.env.PAGE_DIST) {
    for (const [file, contentType] of [["app.js", "text/javascript"], ["app.css", "text/css"]]) {
      await page.route(`${base}/${file}`, (route) => route.fulfill({ path: `${process.env.PAGE_DIST}/${file}`, contentType }));
    }
  }
  await page.goto(`${base}/#token=${as}`);
  await page.waitForSelector(ready);
  assert.equal(new URL(page.url()).hash, "#/", "the token leaves the address");
  if (hash) await page.evaluate((to) => (location.hash = to), hash);
  return page;
}

/** Waits until what is drawn now takes keys, half a second after its comparisons have come. */
export async function settled(page) {
  await page.waitForSelector(".request[aria-busy=false]");
  const drawn = await page.evaluate(() => performance.now());
  await page.waitForFunction((since) => performance.now() - since > 500, drawn);
}

export async function start(page, text) {
  await page.fill("#message", text);
  await page.press("#message", "Enter");
  try {
    await page.waitForFunction(() => location.hash.startsWith("#/s/"));
  } catch (error) {
    // What the page says of a message that was not sent, or is still being sent.
    const composer = page.locator(".composer");
    const busy = await composer.locator("button.primary").isDisabled();
    throw new Error(`${error.message}; busy: ${busy}; it says: ${await composer.textContent()}; message: ${await page.inputValue("#message")}`);
  }
}

export async function accessible(page, where) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // The policy of the page lets nothing be added to it; the debugger may.
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => axe.run());
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    const found = serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
    assert.deepEqual(found, [], `${where}, ${colorScheme}`);
    await picture(page, `${where}-${colorScheme}`);
  }
}

/** Checks that the page fits a phone. */
export async function fits(page, where) {
  const size = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 700 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 360, `${where} is ${wide} wide`);
  await picture(page, `${where}-phone`);
  assert.ok(await page.getByRole("link", { name: "Back to the sessions" }).isVisible(), `${where} has no way back`);
  await page.setViewportSize(size);
}

/** Keeps a picture of the page, where a directory for them is given. */
export async function picture(page, where) {
  const directory = process.env.PAGE_PICTURES;
  if (directory) await page.screenshot({ path: `${directory}/${name}-${where.replaceAll(" ", "-")}.png` });
}

/**
 * Checks that what is done leaves the main thread free. Machines differ in speed, and other programs
 * take turns on them: the processor time of the longest task is compared with that of a fixed piece
 * of work in the same page, and the best of several pages counts.
 */
export async function responsive(what, does) {
  let best = Infinity;
  for (let attempt = 0; attempt < 6 && best > LONGEST_TASK_MS; attempt += 1) {
    let page;
    const longest = await longestTask(async () => (page = await does()));
    const took = (await longestTask(() => page.evaluate(work, WORKS))) / WORKS;
    best = Math.min(best, (longest * WORK_MS) / Math.max(took, WORK_MS));
    console.error(`${what}: the longest task took ${longest} ms, the fixed work ${took} ms`);
    await page.context().close();
  }
  assert.ok(best <= LONGEST_TASK_MS, `${what}: a task took ${best} ms, by the speed of the fixed work`);
}

/** From here on, tasks count for `responsive`. */
export async function beginTasks(page) {
  await page.evaluate((mark) => performance.mark(mark), BEGIN);
}

const BEGIN = "tasks begin";

/** Returns the processor time of the longest task of the main threads of pages, in ms. */
async function longestTask(does) {
  await browser.startTracing(undefined, { categories: ["toplevel", "blink.user_timing"] });
  try {
    await does();
  } catch (error) {
    await browser.stopTracing();
    throw error;
  }
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  const thread = ({ pid, tid }) => `${pid} ${tid}`;
  const named = traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const main = new Set(named.map(thread));
  const begin = traceEvents.findLast(({ name }) => name === BEGIN)?.ts ?? 0;
  const tasks = traceEvents.filter((event) => event.tdur > 0 && event.ts >= begin && main.has(thread(event)));
  assert.ok(tasks.length > 0, "the browser traced no task");
  return tasks.reduce((longest, { tdur }) => Math.max(longest, tdur), 0) / 1000;
}

/** Says a word to the test, and waits for a line of its answer. */
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
export async function tell(word) {
  console.log(word);
  return (await lines.next()).value;
}
