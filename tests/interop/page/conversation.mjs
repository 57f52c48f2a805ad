// A conversation: its text, its lost connections, and one that is long.

import assert from "node:assert/strict";
import {
  accessible,
  argument,
  base,
  beginTasks,
  fits,
  open,
  responsive,
  settled,
  start,
  tell,
  token,
} from "./browser.mjs";

export const actions = {
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
    assert.equal(await page.locator(".timeline [data-kind=call], .timeline [data-kind=reply]").count(), 3);
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
    await fits(page, "tools");
  },

  /** Code is coloured and copied as it is shown; a change has its long unchanged run folded. */
  async code() {
    const page = await open("", { permissions: ["clipboard-read", "clipboard-write"] });
    await start(page, "Change it.");
    await page.waitForSelector(".figures");
    const blocks = page.locator(".reply .code");
    assert.equal(await blocks.count(), 3);
    await blocks.nth(0).locator(".hljs-keyword:has-text('fn')").waitFor();
    assert.equal(await blocks.nth(0).locator("code").textContent(), "fn main() {} // \\u{202e}<b>");
    await blocks.nth(1).locator(".hljs-deletion").waitFor();
    assert.equal(await blocks.nth(2).locator("code *").count(), 0);
    const copy = page.getByRole("button", { name: "Copy the code" });
    await copy.first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("status").filter({ hasText: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "fn main() {} // \\u{202e}<b>");
    await accessible(page, "code");
    await page.locator(".call summary").click();
    const change = page.getByLabel("Change of the file");
    const fold = page.getByRole("button", { name: "Show 14 unchanged lines" });
    await fold.waitFor();
    assert.equal(await change.locator("span").count(), 8);
    await accessible(page, "folded change");
    await fold.press("Enter");
    assert.equal(await change.locator("span").count(), 22);
    assert.deepEqual(await change.locator(".removed, .added").allTextContents(), ["-one\n", "+two\n"]);
    await fits(page, "code");
  },

  async "long-session"() {
    await responsive("opening a session of 10,000 calls", async () => {
      const page = await open(`#/s/${argument}`);
      await page.waitForSelector("text=The end.");
      await page.waitForSelector("text=of 19,");
      assert.ok((await page.locator(".list > *").count()) < 200);
      return page;
    });
    await responsive("its views", async () => {
      const page = await open(`#/s/${argument}`);
      await page.waitForSelector("text=The end.");
      await page.waitForSelector("text=of 19,");
      await beginTasks(page);
      for (const view of ["Timeline", "Graph", "Files", "Access"]) {
        await page.getByRole("button", { name: view }).click();
        await page.getByRole("region", { name: view }).waitFor();
      }
      await page.getByRole("button", { name: "Conversation" }).click();
      // Far back, no more than some hundreds of items are there at once.
      for (let step = 0; step < 8; step += 1) await page.getByRole("button", { name: "earlier items" }).click();
      assert.ok((await page.locator(".list > *").count()) < 700);
      await page.getByRole("button", { name: "Go to the newest item" }).click();
      await page.waitForSelector("text=The end.");
      return page;
    });
  },

  /** Text is there as it arrives, before the answer is whole, and so is the progress of a call. */
  async live() {
    const page = await open();
    await start(page, "Work.");
    await page.locator(".working").waitFor();
    await tell("asked");
    const reply = page.locator(".reply[aria-busy=true]");
    await reply.filter({ hasText: "The first half" }).waitFor();
    assert.ok(!(await page.locator(".items").textContent()).includes("The second half"));
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 1);
    await tell("half");
    await page.waitForSelector(".figures");
    const answer = page.locator(".reply").last();
    assert.equal(await answer.getAttribute("aria-busy"), "false");
    assert.ok((await answer.textContent()).includes("The second half"));
  },

  /** The last lines that a running call prints are below it, as text, and folded away when it ends. */
  async printed() {
    const page = await open();
    await start(page, "Work.");
    await page.locator(".working").waitFor();
    await tell("asked");
    const step = page.locator(".step");
    const printed = step.locator(".printed");
    // They are there again for a page that is opened meanwhile.
    for (const again of [true, false]) {
      await printed.filter({ hasText: "last" }).waitFor();
      assert.deepEqual(await printed.allTextContents(), ["two\n<img src=x onerror='window.harmed=1'>\ufffd\nlast"]);
      if (again) await page.reload();
    }
    assert.equal(await printed.locator("*").count(), 0);
    assert.match((await step.locator(":scope > summary").innerText()).replace(/\s+/g, " "), /^2 calls: 2 code/);
    assert.notEqual(await step.getAttribute("open"), null);
    await accessible(page, "printed lines");
    await fits(page, "printed lines");
    await tell("seen");
    await page.waitForSelector(".figures");
    await page.locator(".step:not([open])").waitFor();
    assert.equal(await page.locator(".printed").count(), 0);
    assert.ok(!(await page.locator(".items").textContent()).includes("onerror"));
    assert.equal(await page.evaluate(() => window.harmed), undefined);
  },

  /** What was written before the stream of the page is open is shown once it is. */
  async "late-stream"() {
    const page = await open();
    let release;
    const readByAnother = new Promise((done) => (release = done));
    await page.route("**/events?*", async (route) => {
      await readByAnother;
      await route.continue();
    });
    await start(page, "Work.");
    const session = new URL(page.url()).hash.slice("#/s/".length);
    const stream = await fetch(`${base}/api/v1/sessions/${session}/events`, { headers: { Authorization: `Bearer ${token}` } });
    let seen = "";
    for await (const piece of stream.body.pipeThrough(new TextDecoderStream())) {
      seen += piece;
      if (seen.includes("first half")) break;
    }
    release();
    const reply = page.locator(".reply[aria-busy=true]");
    await reply.filter({ hasText: /^The first half/ }).waitFor();
    await tell("half");
    await page.waitForSelector(".figures");
    assert.equal((await page.locator(".reply").textContent()).trim(), "The first half is here. And this: The second half is here.");
  },

  /** A model is chosen by keys alone, and the head of the conversation names it. */
  async model() {
    const page = await open();
    const picker = page.getByRole("combobox", { name: "Model" });
    await picker.waitFor();
    assert.deepEqual(await picker.locator("option").allTextContents(), ["openai-compat:m", "openai-compat:big"]);
    await accessible(page, "models");
    await picker.focus();
    await page.keyboard.press("ArrowDown");
    await page.locator("h1").click();
    await page.keyboard.press("m");
    await page.keyboard.type("Hello?");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".figures");
    assert.equal((await page.locator(".session > header .model").textContent()).trim(), "openai-compat:big");
    assert.ok(await page.locator(".session > header .model").isVisible());
    await fits(page, "chosen model");
  },

  /** The calls of a reply are one line, which opens by keys and by touch, and by itself where a call waits or failed. */
  async "folded-steps"() {
    const page = await open("", { hasTouch: true });
    await start(page, "Look.");
    await page.waitForSelector(".figures");
    const steps = page.locator(".step");
    const line = steps.nth(0).locator(":scope > summary");
    assert.equal(await steps.count(), 1);
    assert.equal(await steps.nth(0).getAttribute("open"), null);
    assert.match((await line.innerText()).replace(/\s+/g, " "), /^3 calls: 2 read, 1 search done \d+ (ms|s)$/);
    assert.deepEqual(await line.locator("svg").evaluateAll((icons) => icons.map((icon) => icon.dataset.kind)), ["read", "search"]);
    await accessible(page, "folded step");
    await line.focus();
    await page.keyboard.press("Enter");
    const calls = steps.nth(0).locator(".call");
    await calls.nth(2).waitFor();
    assert.deepEqual(await calls.locator(".about").allTextContents(), ["Read a.txt  5 B", "Read b.txt  5 B", 'Searched "h"  1 match']);
    await accessible(page, "open step");
    await page.keyboard.press("Space");
    await calls.first().waitFor({ state: "detached" });
    await line.tap();
    await calls.first().waitFor();
    await line.tap();
    // The next step has a call that waits, and one that fails.
    await page.fill("#message", "Write.");
    await page.press("#message", "Enter");
    await page.waitForSelector(".approval");
    assert.notEqual(await steps.nth(1).getAttribute("open"), null);
    assert.match(await steps.nth(1).locator(":scope > summary").innerText(), /1 waiting/);
    await settled(page);
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("w");
    await page.keyboard.press("a");
    await page.waitForFunction(() => document.querySelectorAll(".figures").length === 2);
    assert.match((await steps.nth(1).locator(":scope > summary").innerText()).replace(/\s+/g, " "), /^2 calls: 1 read, 1 edit 1 failed/);
    assert.notEqual(await steps.nth(1).getAttribute("open"), null);
    await fits(page, "steps");
  },

  /** The view stays at the end while an answer grows, and where the reader is who went back. */
  async growing() {
    const page = await open();
    const items = page.getByRole("log", { name: "Conversation" });
    const place = () => items.evaluate(({ scrollTop, scrollHeight, clientHeight }) => ({ top: scrollTop, below: scrollHeight - scrollTop - clientHeight }));
    const grown = (text) => page.locator(".reply").last().filter({ hasText: text }).waitFor();
    await start(page, "Count.");
    await page.locator(".working").waitFor();
    await tell("first request");
    await grown("line 100.");
    await page.waitForFunction(() => document.querySelector(".items").scrollTop > 500);
    assert.ok((await place()).below < 60);
    await tell("first half");
    await page.waitForSelector(".figures");
    await page.waitForFunction(() => {
      const { scrollTop, scrollHeight, clientHeight } = document.querySelector(".items");
      return scrollHeight - scrollTop - clientHeight < 60;
    });
    await page.fill("#message", "Again.");
    await page.press("#message", "Enter");
    await page.locator(".working").waitFor();
    await tell("second request");
    await page.locator(".reply[aria-busy=true]").filter({ hasText: "line 100." }).waitFor();
    // The reader goes back by the wheel.
    await items.hover();
    await page.mouse.wheel(0, -900);
    const newest = page.getByRole("button", { name: "Go to the newest item" });
    await newest.waitFor();
    await page.waitForTimeout(200);
    const before = await place();
    assert.ok(before.below > 500, JSON.stringify(before));
    await accessible(page, "away from the end");
    await tell("second half");
    await page.waitForFunction(() => document.querySelectorAll(".figures").length === 2);
    const after = await place();
    assert.equal(after.top, before.top);
    assert.ok(after.below > before.below);
    await newest.press("Enter");
    await newest.waitFor({ state: "detached" });
    assert.ok((await place()).below < 60);
  },

  /** What a user does first, without a mouse: a message, a decision, the answer, its steps. */
  async "by-keyboard"() {
    const page = await open();
    await page.keyboard.press("m");
    await page.keyboard.type("Write.");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".approval");
    await settled(page);
    await page.keyboard.press("Escape");
    // The field for a message has the focus no more once it was sent.
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("w");
    await page.keyboard.press("a");
    await page.waitForSelector(".figures");
    // The focus stays in the conversation. By Tab alone to the views of the session; each element on
    // the way shows that it has the focus.
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "log");
    const seen = new Set();
    const focus = () => page.evaluate(() => {
      const on = document.activeElement;
      const style = getComputedStyle(on);
      return { text: on.textContent.trim(), outline: style.outlineStyle, width: parseFloat(style.outlineWidth) };
    });
    let on = await focus();
    for (let presses = 0; presses < 20 && on.text !== "Timeline"; presses += 1) {
      await page.keyboard.press("Shift+Tab");
      on = await focus();
      seen.add(on.text);
      assert.ok(on.outline !== "none" && on.width > 0, `${on.text} has no mark of the focus`);
    }
    assert.equal(on.text, "Timeline", [...seen].join(", "));
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Timeline" }).waitFor();
    // The call is opened by keys, too.
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.locator(".call summary").focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".opened");
    await page.keyboard.press("/");
    await page.keyboard.type("write");
    assert.equal(await page.locator(".sessions li").count(), 1);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".figures");
  },

  /** The page is drawn soon. The time is told, and not checked: it is the machine's. */
  async "first-paint"() {
    const times = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const page = await open();
      const painted = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
      times.push(await painted.jsonValue());
      await page.context().close();
    }
    assert.equal(times.length, 5);
    console.error(`first contentful paint: ${times.map(Math.round).join(", ")} ms`);
  },
};
