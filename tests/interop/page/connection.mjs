// A server that goes away while the page is open, and comes back.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { accessible, base, open, start, tell } from "./browser.mjs";

/** Answers every request as a proxy whose server is gone. */
async function proxied(status, during) {
  const proxy = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": "text/html" }).end("<!doctype html><h1>Bad gateway</h1>");
  });
  proxy.listen(Number(new URL(base).port), "127.0.0.1");
  await once(proxy, "listening");
  await during();
  proxy.closeAllConnections();
  await new Promise((closed) => proxy.close(closed));
}

/** What a session shows, without what its page alone may know. */
const shown = (page) => page.locator(".list > *").evaluateAll((all) => all.map((item) => item.textContent));

export const actions = {
  async restarts() {
    const page = await open();
    await start(page, "Hello.");
    await page.waitForSelector(".figures");
    await page.fill("#message", "And now?");
    await page.press("#message", "Enter");
    await page.locator(".reply[aria-busy=true]:has-text('half of')").waitFor();
    // The server is killed in the middle of its answer.
    await tell("kill");
    const banner = page.locator(".banner");
    await banner.filter({ hasText: "The server does not answer." }).waitFor();
    await page.waitForSelector("text=connecting again…");
    await accessible(page, "no server");
    // What a proxy says in its place is told as such, as an error and as a page that is none of ours.
    for (const status of [502, 200]) {
      await proxied(status, async () => {
        await banner.filter({ hasText: `such as a proxy: text/html with the status ${status}.` }).waitFor();
      });
    }
    await tell("start");
    await banner.waitFor({ state: "detached" });
    await page.waitForFunction(() => !document.body.textContent.includes("connecting again…"));
    await page.waitForSelector("text=This run was interrupted.");
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 0);
    // The text that the dead server sent is of no answer.
    assert.equal(await page.locator(".reply").count(), 1);
    await accessible(page, "interrupted");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".figures").length === 2);
    // Nothing is lost, and nothing is there twice: the page shows what a new one does.
    const fresh = await open(new URL(page.url()).hash);
    await fresh.waitForFunction(() => document.querySelectorAll(".figures").length === 2);
    assert.deepEqual(await shown(page), await shown(fresh));
    assert.equal(await page.locator(".reply").count(), 2);
    assert.equal(await page.locator(".reply[aria-busy=true]").count(), 0);
    const before = await shown(page);
    // A server with another token says so, and the session is there with the new one.
    const other = await tell("other token");
    await page.locator(".sign-in [role=alert]:has-text('may have another one')").waitFor();
    await accessible(page, "another token");
    await page.getByLabel("Token").fill(other);
    await page.getByRole("button", { name: "Open" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".figures").length === 2);
    assert.deepEqual(await shown(page), before);
  },
};
