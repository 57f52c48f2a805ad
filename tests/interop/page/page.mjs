// What a user does on the page, by name: `node page.mjs NAME BASE TOKEN [ARGUMENT]`. PAGE_PACKAGES is
// the directory with playwright-core and axe-core.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const [name, base, token, argument] = process.argv.slice(2);
const require = createRequire(`${process.env.PAGE_PACKAGES}/package.json`);
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const browser = await chromium.launch({
  executablePath: PROGRAMS.find((path) => existsSync(path)),
  // Its own sandbox does not start as root.
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});

/// The faults of all pages: no text of a model or a tool may cause one.
const faults = [];

async function open(hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d|ERR_INTERNET_DISCONNECTED/.test(message.text())) faults.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith(`blob:${base}`)) faults.push(`request: ${url}`);
  });
  await page.goto(`${base}/#token=${token}`);
  await page.waitForSelector("#message");
  assert.equal(new URL(page.url()).hash, "#/", "the token leaves the address");
  if (hash) await page.evaluate((to) => (location.hash = to), hash);
  return page;
}

/** Waits until what is drawn now takes keys, half a second later. */
async function settled(page) {
  const drawn = await page.evaluate(() => performance.now());
  await page.waitForFunction((since) => performance.now() - since > 500, drawn);
}

async function start(page, text) {
  await page.fill("#message", text);
  await page.press("#message", "Enter");
  await page.waitForFunction(() => location.hash.startsWith("#/s/"));
}

async function accessible(page, where) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // The policy of the page lets nothing be added to it; the debugger may.
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => axe.run());
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    const found = serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
    assert.deepEqual(found, [], `${where}, ${colorScheme}`);
  }
}

const actions = {
  async conversation() {
    const page = await open();
    await accessible(page, "new session");
    await start(page, "What does the note say?");
    await page.waitForSelector(".figures");
    const answer = page.locator(".markdown").last();
    assert.equal(await answer.locator("h3").textContent(), "Done <img src=x onerror=alert(1)>");
    assert.equal(await answer.locator("script, img, b").count(), 0);
    assert.deepEqual(await answer.locator("a").evaluateAll((links) => links.map((link) => link.href)), [
      "https://example.com/b",
      "https://example.com/c.png",
    ]);
    const text = await answer.textContent();
    assert.ok(text.includes("\\u{202e}reversed\\u{200b}\\u{7}"), text);
    assert.equal(await answer.locator("table td").first().textContent(), "<b>x</b>");
    await page.locator(".call summary").click();
    await page.waitForSelector(".opened pre");
    assert.ok((await page.locator(".opened").textContent()).includes("<script>alert(4)</script>"));
    await accessible(page, "conversation");
    await page.getByRole("button", { name: "Timeline" }).click();
    assert.equal(await page.locator(".timeline tbody tr").count(), 3);
    await accessible(page, "timeline");
    // By keys alone: to the message, and back to a new session.
    await page.locator("h1").click();
    await page.keyboard.press("m");
    await page.keyboard.type("Thanks!");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Conversation" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".figures").length === 2);
    // What is said while the connection is gone is there when it is back, once.
    const other = await open(new URL(page.url()).hash);
    await other.waitForFunction(() => document.querySelectorAll(".figures").length === 2);
    await page.context().setOffline(true);
    await other.fill("#message", "Are you there?");
    await other.press("#message", "Enter");
    await other.waitForFunction(() => document.querySelectorAll(".figures").length === 3);
    await page.context().setOffline(false);
    await page.waitForFunction(() => document.querySelectorAll(".figures").length === 3);
    assert.equal(await page.locator(".input").count(), 3);
    await page.locator("h1").click();
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    await page.waitForSelector(".tools li");
    await accessible(page, "tools");
    await page.setViewportSize({ width: 360, height: 700 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `the page is ${wide} wide`);
  },

  async approvals() {
    const page = await open();
    await start(page, "Write.");
    await page.waitForSelector(".diff .added");
    assert.deepEqual(await page.locator(".diff .removed, .diff .added").allTextContents(), ["-two\n", "+three\n"]);
    assert.equal(await page.locator(".target").textContent(), "a.txt");
    await accessible(page, "approval");
    const other = await open(new URL(page.url()).hash);
    await other.waitForSelector(".request");
    const request = await other.locator(".request").getAttribute("data-request");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await other.waitForSelector(`.request:not([data-request="${request}"])`);
    await page.waitForSelector(`.request:not([data-request="${request}"])`);
    await page.getByRole("button", { name: "Deny…" }).click();
    await page.getByLabel("Reason").fill("not there");
    const second = await page.locator(".request").getAttribute("data-request");
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    await page.waitForSelector(`.request:not([data-request="${second}"])`);
    await page.getByRole("button", { name: "Edit…" }).click();
    await page.getByLabel("Arguments").fill('{"path": "c.txt", "content": "edited"}');
    await page.getByRole("button", { name: "Approve these arguments" }).click();
    await page.waitForSelector(".figures");
    await other.waitForSelector(".figures");
    assert.equal(await other.locator(".request").count(), 0);
  },

  async keys() {
    const page = await open();
    await start(page, "Write.");
    const news = page.getByRole("status", { name: "News" });
    await page.waitForSelector(".approval");
    await news.filter({ hasText: "waiting for you" }).waitFor();
    await accessible(page, "news");
    // A key decides where the call has the focus alone.
    const first = await page.locator(".request").getAttribute("data-request");
    await page.locator("h1").click();
    await page.keyboard.press("a");
    await page.keyboard.press("d");
    assert.equal(await page.locator(".request").getAttribute("data-request"), first);
    assert.equal(await page.getByLabel("Reason").count(), 0);
    // Nor does one that was just drawn.
    await settled(page);
    await page.keyboard.press("w");
    assert.equal(await page.evaluate(() => document.activeElement?.className), "approval");
    await page.keyboard.press("d");
    await page.getByLabel("Reason").waitFor();
    await page.keyboard.type("a bad day");
    assert.equal(await page.getByLabel("Reason").inputValue(), "a bad day");
    const decided = Date.now();
    await page.keyboard.press("Enter");
    await page.waitForSelector(`.request:not([data-request="${first}"])`);
    await page.keyboard.press("w");
    // One that was just drawn takes no key.
    await page.keyboard.press("a");
    if (Date.now() - decided < 500) assert.equal(await page.locator(".approval[data-open]").count(), 1);
    await settled(page);
    await page.keyboard.press("a");
    await page.waitForSelector(".figures");
    await news.filter({ hasText: "Write.: done" }).waitFor();
  },

  async usage() {
    const page = await open();
    await start(page, "Hello.");
    await page.waitForSelector(".figures");
    await page.locator("h1").click();
    await page.keyboard.press("u");
    const usage = page.getByRole("region", { name: "Usage" });
    await usage.locator("tbody tr").waitFor();
    const total = await usage.locator("tfoot td").allTextContents();
    assert.deepEqual(total, JSON.parse(argument));
    await usage.getByLabel("By").selectOption("model");
    await usage.locator("tbody th:has-text('openai-compat:m')").waitFor();
    await accessible(page, "usage");
    await page.screenshot({ path: process.env.PAGE_SCREENSHOT ?? "/dev/null", type: "png" });
    await page.setViewportSize({ width: 360, height: 700 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `the page is ${wide} wide`);
  },

  async workflow() {
    const page = await open(`#/s/${argument}`);
    await page.getByRole("button", { name: "Graph" }).click();
    const graph = page.locator("svg.graph");
    await graph.waitFor();
    const states = await graph.locator(".node").evaluateAll((nodes) =>
      nodes.map((node) => [node.querySelector(".id").textContent, node.getAttribute("class")]),
    );
    assert.deepEqual(states, [
      ["draft", "node done"],
      ["never", "node skipped"],
      ["publish", "node waiting"],
    ]);
    assert.equal(await graph.locator(".edge").count(), 2);
    const condition = await graph.locator(".edge title").textContent();
    assert.ok(condition.includes("<img src=x onerror=alert(1)>"), condition);
    assert.equal(await page.locator(".items img, .items script").count(), 0);
    await accessible(page, "graph");
    await page.screenshot({ path: process.env.PAGE_SCREENSHOT ?? "/dev/null", type: "png" });
    await page.setViewportSize({ width: 360, height: 700 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `the page is ${wide} wide`);
  },

  async question() {
    const page = await open();
    await start(page, "Ask me.");
    await page.getByLabel("red").check();
    await page.getByLabel("blue").check();
    await accessible(page, "question");
    await page.getByRole("button", { name: "Answer" }).click();
    await page.waitForSelector(".figures");
  },

  async form() {
    const page = await open();
    await start(page, "Order.");
    await page.getByLabel("How many").fill("3");
    assert.equal(await page.getByLabel("note").inputValue(), "none");
    await page.getByLabel("gift").selectOption("true");
    await accessible(page, "form");
    await page.getByRole("button", { name: "Answer" }).click();
    await page.waitForSelector(".figures");
  },

  async undo() {
    const page = await open();
    await start(page, "Write.");
    await page.waitForSelector(".figures");
    writeFileSync(argument, "mine");
    await page.locator(".menu summary").click();
    await page.getByRole("button", { name: "Undo changes to files" }).click();
    const report = page.getByRole("status", { name: "Undone" });
    await report.locator("li:has-text('not restored: it was changed since')").waitFor();
    await accessible(page, "undo");
    await page.getByRole("button", { name: "Restore what was changed since, too" }).click();
    await report.locator("li:has-text('written back')").waitFor();
    assert.equal(readFileSync(argument, "utf8"), "one");
    await page.waitForSelector(".note:has-text('/workspace/note.txt')");
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 0);
    await page.getByRole("button", { name: "Close" }).click();
    assert.equal(await report.count(), 0);
  },

  async "files-and-access"() {
    const page = await open();
    await start(page, "Look.");
    await page.waitForSelector(".figures");
    await page.getByRole("button", { name: "Files" }).click();
    const files = page.getByRole("region", { name: "Files" });
    const picture = files.locator("img");
    await picture.waitFor();
    await picture.evaluate((image) => image.decode());
    await accessible(page, "files");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      files.getByRole("button", { name: "Save" }).first().click(),
    ]);
    assert.deepEqual([...readFileSync(await download.path()).subarray(1, 4)], [...Buffer.from("PNG")]);
    await page.getByRole("button", { name: "Access" }).click();
    const access = page.getByRole("region", { name: "Access" });
    await access.locator("text=denied").first().waitFor();
    assert.equal(await access.locator("b").count(), 0);
    const lines = (await access.locator("pre").allTextContents()).join("\n");
    assert.ok(lines.includes(`host = "example.com"`), lines);
    await accessible(page, "access");
    await page.screenshot({ path: process.env.PAGE_SCREENSHOT ?? "/dev/null", type: "png" });
    await page.setViewportSize({ width: 360, height: 700 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `the page is ${wide} wide`);
  },

  async management() {
    const page = await open();
    await start(page, "Hello.");
    await page.waitForSelector(".figures");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Name").fill("greeting");
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForSelector("h1:has-text('greeting')");
    await page.locator(".menu summary").click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    const exported = readFileSync(await download.path(), "utf8");
    assert.equal(JSON.parse(exported.slice(0, exported.indexOf("\n"))).format, "agent-host-session");
    const before = page.url();
    await page.getByRole("button", { name: "Copy into a new session" }).click();
    await page.waitForFunction((url) => location.href !== url, before);
    await page.waitForSelector(".note:has-text('Copied')");
    await page.goto(before);
    await page.locator(".menu summary").click();
    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByRole("button", { name: "Delete for ever" }).click();
    await page.waitForFunction(() => location.hash === "#/");
    await page.waitForFunction(() => document.querySelectorAll(".sessions li").length === 1);
    await page.getByLabel("Search sessions").fill("nothing like it");
    await page.waitForSelector("text=No session matches.");
  },

  async "long-session"() {
    const page = await open();
    await page.evaluate(() => {
      window.longest = 0;
      new PerformanceObserver((list) => {
        for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
      }).observe({ type: "longtask" });
    });
    await page.evaluate((to) => (location.hash = to), `#/s/${argument}`);
    await page.waitForSelector("text=The end.");
    await page.waitForSelector("text=of 19,");
    console.error(`longest task: ${await page.evaluate(() => window.longest)} ms`);
    assert.ok((await page.locator(".items > *").count()) < 200);
  },
};

try {
  await actions[name]();
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}
