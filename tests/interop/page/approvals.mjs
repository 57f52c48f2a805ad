// Calls that wait for approval.

import assert from "node:assert/strict";
import { accessible, argument, fits, open, picture, settled, start } from "./browser.mjs";

export const actions = {
  async approvals() {
    const page = await open();
    await start(page, "Write.");
    await page.waitForSelector(".diff .added");
    assert.deepEqual(await page.locator(".diff .removed, .diff .added").allTextContents(), ["-two\n", "+three\n"]);
    assert.equal(await page.locator(".target").textContent(), "a.txt");
    assert.match(await page.locator(".reach").textContent(), /^The tool may reach: .*\/workspace.*no network/);
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
    await news.filter({ hasText: "waiting for approval" }).waitFor();
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

  /** All calls at once; then one is remembered for the session, and one for the project. */
  async remember() {
    const page = await open();
    await start(page, "Write.");
    await page.waitForSelector("text=2 calls");
    await accessible(page, "two calls");
    await page.getByRole("button", { name: "Approve all" }).click();
    await page.waitForSelector(".note:has-text('approved 2 calls')");
    await page.getByRole("button", { name: "Approve write_file for this session" }).click();
    await page.waitForSelector(".note:has-text('Approval of write_file is remembered for this session.')");
    await page.waitForSelector(".approval:has-text('edit_file')");
    await page.getByRole("button", { name: "… for this project" }).click();
    await page.waitForSelector(".note:has-text('Approval of edit_file is remembered for this project.')");
    await page.waitForSelector(".figures");
  },

  /** The page offers what the role of its token may do, and no more. */
  async roles() {
    const { session, tokens } = JSON.parse(argument);
    const offered = async (role) => {
      const ready = role === "viewer" ? "text=This token reads sessions." : "#message";
      const page = await open(`#/s/${session}`, { as: tokens[role], ready });
      await page.waitForSelector(".approval");
      await accessible(page, role);
      const buttons = await page.locator(".approval .actions button").allTextContents();
      return [await page.locator("#message").count(), await page.locator(".menu").count(), buttons];
    };
    const decide = ["Approve", "Approve write_file for this session", "Edit…", "Deny…"];
    assert.deepEqual(await offered("viewer"), [0, 0, []]);
    assert.deepEqual(await offered("user"), [1, 1, []]);
    assert.deepEqual(await offered("approver"), [1, 1, decide]);
    decide.splice(2, 0, "… for this project");
    assert.deepEqual(await offered("operator"), [1, 1, decide]);
  },

  /** An agent's conversation is inside of its call, and its approval in the session that started it. */
  async agents() {
    const page = await open();
    await start(page, "See to the list.");
    const inside = page.getByRole("group", { name: "Agent clerk" });
    await inside.locator(".target").waitFor();
    assert.equal(await inside.locator(".target").textContent(), "note.txt");
    await accessible(page, "approval of an agent");
    await page.locator(".call summary").first().click();
    const nested = page.locator(".agent");
    await nested.locator(".input:has-text('see to the list')").waitFor();
    await nested.locator(".call:has-text('write_file')").waitFor();
    await picture(page, "nested");
    await inside.getByRole("button", { name: "Approve", exact: true }).click();
    await page.waitForSelector(".figures");
    await nested.locator(".reply:has-text('Seen to.')").waitFor();
    // The answer of the agent may be drawn before its call is.
    await page.waitForSelector(".request", { state: "detached" });
    await fits(page, "agents");
  },
};
