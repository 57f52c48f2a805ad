// What models, tools and files may hold: nothing of it runs, deceives, or holds up the page.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { accessible, argument, open, picture, responsive, start } from "./browser.mjs";

/** A valid PNG of a few KB that takes gigabytes once it is decoded. */
function bomb(width, height) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const number = (n) => Buffer.from([n >>> 24, n >>> 16, n >>> 8, n]);
    return Buffer.concat([number(data.length), body, number(crc32(body))]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(1, 8);
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height), { level: 9 });
  const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([start, chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))]);
}

/** The marks that a script would leave. */
const unharmed = (page) => page.evaluate(() => window.harmed === undefined && document.querySelectorAll("script").length === 1);

/** The texts of the page, and what is read of its elements, with characters that hide or reorder. */
const hidden = (page) =>
  page.evaluate(() => {
    const read = (element) => ["alt", "aria-label", "placeholder", "title"].map((name) => element.getAttribute(name) ?? "");
    const texts = (element) => [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data);
    const all = [...document.querySelectorAll("body *")].flatMap((element) => [...read(element), ...texts(element)]);
    return all.filter((text) => /(?![\n\r\t])[\p{Cc}\p{Cf}]/u.test(text));
  });

export const actions = {
  /** Files that would run in a browser are saved and not shown, whatever a tool says of their type. */
  async "hostile-files"() {
    const page = await open();
    await start(page, "Store them.");
    await page.waitForSelector(".figures");
    for (const call of await page.locator(".call > summary").all()) await call.click();
    await page.waitForFunction(() => document.querySelectorAll(".opened").length === 4);
    assert.equal(await page.locator(".items img, .items svg:not(.kind), .items iframe, .items object, .items b").count(), 0);
    await page.getByRole("button", { name: "Files" }).click();
    const files = page.getByRole("region", { name: "Files" });
    const rows = files.locator("li");
    await rows.first().waitFor();
    const stored = await rows.evaluateAll((all) => all.map((row) => row.textContent.replace(/, \d.*Save ?/, ": ")));
    assert.deepEqual(stored, JSON.parse(argument));
    await accessible(page, "files");
    assert.equal(await files.locator("img, svg, iframe, object, embed").count(), 0);
    for (const save of await files.getByRole("button", { name: "Save" }).all()) {
      const [download] = await Promise.all([page.waitForEvent("download"), save.click()]);
      assert.match(download.suggestedFilename(), /^[\w.-]+$/);
      assert.match(download.url(), /^blob:/);
    }
    assert.ok(await unharmed(page));
  },

  /** A small file that is a picture of a billion pixels is named, and not decoded. */
  async "image-bomb"() {
    const path = join(argument, "bomb.png");
    writeFileSync(path, bomb(32_000, 32_000));
    assert.ok(readFileSync(path).length < 200_000);
    await responsive("a picture of a billion pixels", async () => {
      const page = await open();
      await page.locator("input[type=file]").setInputFiles(path);
      await start(page, "Look.");
      await page.waitForSelector("text=It has 32,000 × 32,000 pixels, too many to be shown.");
      assert.equal(await page.locator(".items img").count(), 0);
      await picture(page, "bomb");
      return page;
    });
  },

  /** A result of 10 MB is shown in parts, on request. */
  async "large-result"() {
    await responsive("a result of 10 MB", async () => {
      const page = await open(`#/s/${argument}`);
      await page.waitForSelector(".figures");
      await page.locator(".call summary").first().click();
      await page.locator(".opened pre").first().waitFor();
      const whole = page.getByRole("button", { name: "Load the whole result" });
      if (await whole.count()) await whole.click();
      const more = page.getByRole("button", { name: "MiB left)" });
      await more.waitFor();
      for (let times = 0; times < 3; times += 1) await more.click();
      assert.ok((await page.locator(".opened pre").last().textContent()).length < 300_000);
      return page;
    });
  },

  /** Texts that take a parser long, or nest deeper than it can, are shown as they are. */
  async "hostile-markdown"() {
    await responsive("Markdown against its parser", async () => {
      const page = await open(`#/s/${argument}`);
      await page.waitForSelector(".reply:has-text('The end.')");
      assert.deepEqual(await page.locator(".items .warning").allTextContents(), []);
      assert.ok(await unharmed(page));
      return page;
    });
    const page = await open(`#/s/${argument}`);
    await page.waitForSelector(".reply:has-text('The end.')");
    const replies = page.locator(".reply");
    const starts = await replies.evaluateAll((all) => all.map((one) => one.textContent.slice(0, 12)));
    assert.deepEqual(starts.slice(0, 3), ["_a_a_a_a_a_a", ">>>>>>>>>>>>", "[[[[[[[[[[[["]);
    // What is long and well-formed is Markdown still, also behind what is not.
    for (const sections of [100, 200]) {
      assert.equal(await replies.nth(3).locator("h5").count(), sections);
      assert.equal(await replies.nth(3).locator("pre").count(), sections);
      await replies.nth(3).getByRole("button", { name: "Show 200 of" }).click();
    }
    assert.equal(await replies.nth(4).locator("li").count(), 200);
  },

  /** Names and texts of tools and sessions are text. */
  async "hostile-names"() {
    const page = await open(`#/s/${argument}`);
    await page.waitForSelector(".figures, .reply");
    const hostile = "<img src=x onerror='window.harmed=1'>";
    assert.equal(await page.locator("h1").evaluate((h1) => h1.firstChild.textContent), hostile);
    assert.equal(await page.locator(".sessions .title").textContent(), hostile);
    assert.equal(await page.locator(".input").textContent(), `${hostile}\\u{202e}`);
    await page.locator(".call summary").click();
    for (const view of ["Timeline", "Graph", "Files", "Access"]) {
      await page.getByRole("button", { name: view }).click();
      await page.getByRole("region", { name: view }).waitFor();
      assert.equal(await page.locator(".items img").count(), 0, view);
      assert.deepEqual(await hidden(page), [], view);
    }
    await page.keyboard.press("t");
    await page.locator(".tools li:has-text('window.harmed')").first().waitFor();
    assert.equal(await page.locator(".tools img, .tools b").count(), 0);
    await accessible(page, "tools");
    assert.ok(await unharmed(page));
  },
};
