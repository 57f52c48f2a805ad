// The files of a session, and what its calls did to those of the user.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { accessible, argument, base, fits, open, picture, start } from "./browser.mjs";

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

  /** A PDF has the viewer of the browser on a click. None runs in the page, asks for an address or opens one. */
  async pdf() {
    const page = await open();
    const opened = [];
    page.context().on("page", (other) => opened.push(other.url()));
    const html = `<!doctype html><script src="${base}/harm.js"></script><script>top.harmed=1</script>`;
    const action = `<< /S /JavaScript /JS (this.submitForm("${base}/a"); app.launchURL("${base}/b", true);) >>`;
    const files = [
      ["plan.pdf", pdf("")],
      ["asks.pdf", pdf(`/OpenAction ${action}`)],
      ["lies.pdf", Buffer.from(`%PDF-1.4\n${html}`)],
      ["page.pdf", Buffer.from(`${html}\n${pdf("")}`)],
    ];
    await page.locator("input[type=file]").setInputFiles(files.map(([name, buffer]) => ({ name, mimeType: "application/pdf", buffer })));
    await start(page, "Look.");
    await page.waitForSelector(".figures");
    const figures = page.locator(".input figure");
    await figures.nth(2).getByRole("button", { name: "Show" }).waitFor();
    assert.equal(await page.locator("iframe").count(), 0);
    assert.equal(await figures.nth(3).locator("a, [aria-expanded]").count(), 0);
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    for (const index of [0, 1, 2]) {
      const figure = figures.nth(index);
      await figure.getByRole("button", { name: "Show" }).press("Enter");
      const frame = figure.locator(`iframe[title="${files[index][0]}"]`);
      // The third is no document, so that the viewer shows its dark background alone.
      const [least, most] = index < 2 ? [[250, 0, 0], [255, 5, 5]] : [[0, 0, 0], [60, 60, 60]];
      await until(async () => (await pixels(page, frame, least, most)) > 5_000);
      await picture(page, `shown ${index}`);
      await figure.getByRole("button", { name: "Hide" }).press("Enter");
      await frame.waitFor({ state: "detached" });
    }
    assert.deepEqual(asked.filter((url) => url.startsWith(base) && !url.includes("/api/")), []);
    assert.deepEqual(opened, []);
    assert.equal(await page.evaluate(() => window.harmed), undefined);
    await fits(page, "pdf");
  },
};

/** A PDF of one page, with a red square and more entries in its catalog. */
function pdf(more) {
  const drawn = "1 0 0 rg 20 20 150 150 re f";
  const objects = [
    `<< /Type /Catalog /Pages 2 0 R ${more} >>`,
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R >>",
    `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
  ];
  let text = "%PDF-1.4\n";
  const places = objects.map((object, index) => {
    const at = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(at).padStart(10, "0")} 00000 n \n`;
  });
  const table = `xref\n0 5\n0000000000 65535 f \n${places.join("")}`;
  return Buffer.from(`${text}${table}trailer << /Size 5 /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`);
}

/** Counts the pixels of an element as it is drawn whose colour is between two. */
async function pixels(page, element, least, most) {
  const drawn = (await element.screenshot()).toString("base64");
  return page.evaluate(
    async ([drawn, least, most]) => {
      const bytes = Uint8Array.from(atob(drawn), (char) => char.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
      const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
      canvas.drawImage(image, 0, 0);
      const { data } = canvas.getImageData(0, 0, image.width, image.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (least.every((value, channel) => data[at + channel] >= value && data[at + channel] <= most[channel])) count += 1;
      }
      return count;
    },
    [drawn, least, most],
  );
}

/** Waits for what the page cannot be asked for: another program draws. */
async function until(holds) {
  const last = performance.now() + 20_000;
  while (!(await holds())) assert.ok(performance.now() < last, "the viewer shows nothing");
}
