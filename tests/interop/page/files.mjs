// The files of a session, and what its calls did to those of the user.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { accessible, argument, fits, open, picture, start } from "./browser.mjs";

export const actions = {
  async undo() {
    const page = await open();
    await start(page, "Write.");
    await page.waitForSelector(".figures");
    writeFileSync(argument, "mine");
    await page.locator(".menu summary").click();
    await page.getByRole("button", { name: "Undo changes to files" }).click();
    const report = page.getByRole("status", { name: "Undone" });
    await report.locator("li:has-text('not restored: it has changed since')").waitFor();
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
    await fits(page, "access");
  },

  /** Files come from the dialog, the clipboard and by drag and drop, and one of them is removed. */
  async attachments() {
    const page = await open();
    const names = () => page.locator(".files button").allTextContents();
    await page.locator("input[type=file]").setInputFiles([
      { name: "<b>a</b>.txt", mimeType: "text/plain", buffer: Buffer.from("from the dialog") },
      { name: "unwanted.txt", mimeType: "text/plain", buffer: Buffer.from("no") },
    ]);
    const png = readFileSync(argument).toString("base64");
    const give = (type, on) =>
      page.evaluate(
        ([type, on, png]) => {
          const bytes = Uint8Array.from(atob(png), (char) => char.charCodeAt(0));
          const data = new DataTransfer();
          data.items.add(new File([bytes], `${type}.png`, { type: "image/png" }));
          const init = { bubbles: true, cancelable: true };
          const event = type === "paste" ? new ClipboardEvent(type, { ...init, clipboardData: data }) : new DragEvent(type, { ...init, dataTransfer: data });
          document.querySelector(on).dispatchEvent(event);
          return event.defaultPrevented;
        },
        [type, on, png],
      );
    assert.ok(await give("paste", "#message"));
    // A file that misses the field is not opened in the place of the page.
    assert.ok(await give("dragover", "nav"));
    await page.waitForSelector(".composer.over");
    assert.ok(await give("drop", "nav"));
    await page.getByRole("button", { name: "Remove unwanted.txt" }).click();
    const size = `(${readFileSync(argument).length} B) ×`;
    assert.deepEqual(await names(), ["<b>a</b>.txt (15 B) ×", `paste.png ${size}`, `drop.png ${size}`]);
    await accessible(page, "attachments");
    await start(page, "Look at these.");
    await page.waitForSelector(".figures");
    const pictures = page.locator(".input img");
    await pictures.nth(1).waitFor();
    assert.equal(await pictures.count(), 2);
    for (const image of await pictures.all()) await image.evaluate((image) => image.decode());
    assert.deepEqual(await page.locator(".input figcaption, .input code").evaluateAll((all) => all.map((one) => one.textContent.replace(/ Save.*/, ""))), [
      "<b>a</b>.txt, 15 B",
      `paste.png, image/png, 20 × 10, ${readFileSync(argument).length} B`,
      `drop.png, image/png, 20 × 10, ${readFileSync(argument).length} B`,
    ]);
    await picture(page, "sent");
  },

  async media() {
    const page = await open();
    const html = Buffer.from("<!doctype html><script>window.harmed=1</script>");
    const wav = Buffer.alloc(44 + 800);
    wav.write("RIFF", 0);
    wav.writeUInt32LE(836, 4);
    wav.write("WAVEfmt ", 8);
    for (const [at, value] of [[16, 16], [24, 8000], [28, 8000]]) wav.writeUInt32LE(value, at);
    for (const [at, value] of [[20, 1], [22, 1], [32, 1], [34, 8]]) wav.writeUInt16LE(value, at);
    wav.write("data", 36);
    wav.writeUInt32LE(800, 40);
    const files = [
      ["tone.wav", "audio/wav", wav],
      ["plan.pdf", "application/pdf", Buffer.from("%PDF-1.4\n%%EOF\n")],
      ["fake.wav", "audio/wav", html],
    ];
    await page.locator("input[type=file]").setInputFiles(files.map(([name, mimeType, buffer]) => ({ name, mimeType, buffer })));
    await start(page, "Look.");
    await page.waitForSelector(".figures");
    // The result's picture is there while its call is closed.
    assert.equal(await page.locator(".call[open]").count(), 0);
    const zoom = page.locator(".media").getByRole("button", { name: /^Zoom / });
    await zoom.locator("img[alt]").evaluate((image) => image.decode());
    assert.match(await page.locator(".media figcaption").textContent(), /, image\/png, 64 × 32, [\d.]+ KiB Save$/);
    const audio = page.locator(".input audio");
    await page.waitForFunction(() => document.querySelector(".input audio")?.duration > 0);
    assert.equal(await audio.count(), 1);
    assert.equal(await audio.getAttribute("aria-label"), "tone.wav");
    const link = page.locator(".input").getByRole("link", { name: "Open" });
    assert.equal(await link.count(), 1);
    assert.match(await link.getAttribute("href"), /^blob:/);
    const captions = await page.locator(".input figcaption").evaluateAll((all) => all.map((one) => one.textContent.replace(/, \d+ B.*/, "")));
    assert.deepEqual(captions, ["tone.wav, audio/wav", "plan.pdf, application/pdf", "fake.wav"]);
    await accessible(page, "media");
    await fits(page, "media");
    await zoom.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.locator("img").waitFor();
    await accessible(page, "zoomed");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.className), "picture");
    assert.equal(await page.evaluate(() => window.harmed), undefined);
  },
};
