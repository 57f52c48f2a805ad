// Calls that wait for approval.

import assert from "node:assert/strict";
import { accessible, argument, fits, open, picture, settled, start } from "./browser.mjs";

/** Checks that an approval with its choices is whole on the screen of a phone. */
async function onePhoneScreen(page) {
  const size = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  const isWhole = () => {
    const box = document.querySelector(".items").getBoundingClientRect();
    const frame = document.querySelector(".request").getBoundingClientRect();
    return frame.top >= box.top && frame.bottom <= box.bottom && document.documentElement.scrollWidth <= 390;
  };
  await page.waitForFunction(isWhole);
  await picture(page, "phone");
  await page.setViewportSize(size);
}

export const actions = {
  async approvals() {
    const page = await open();
    await start(page, "Write.");
    await page.waitForSelector(".diff .added");
    assert.deepEqual(await page.locator(".diff .removed, .diff .added").allTextContents(), ["-two\n", "+three\n"]);
    assert.equal(await page.locator(".target").textContent(), "a.txt");
    assert.deepEqual(await page.locator(".approval header > *").allTextContents(), ["write_file", "a.txt", "+1 -1"]);
    assert.match(await page.locator(".reach").textContent(), /^Sandboxed; at most it can reach: files in .* \(read-write\); no network\.$/);
    await accessible(page, "approval");
    await onePhoneScreen(page);
    await page.getByRole("button", { name: "More", exact: true }).click();
    const facts = await page.getByRole("region", { name: "More about the call" }).textContent();
    assert.match(facts, /Asked by the rule.*It comes fromthe component `files`, in the sandbox.*Digest of the arguments.*"path": "a.txt"/s);
    await accessible(page, "facts of a call");
    await page.getByRole("button", { name: "More", exact: true }).click();
    const other = await open(new URL(page.url()).hash);
    await other.waitForSelector(".request");
    const request = await other.locator(".request").getAttribute("data-request");
    await page.getByRole("button", { name: "Allow once" }).click();
    await other.waitForSelector(`.request:not([data-request="${request}"])`);
    await page.waitForSelector(`.request:not([data-request="${request}"])`);
    await page.getByRole("button", { name: "Deny…" }).click();
    await page.getByLabel("Reason").fill("not there");
    const second = await page.locator(".request").getAttribute("data-request");
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    await page.waitForSelector(`.request:not([data-request="${second}"])`);
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("button", { name: "Edit the arguments…" }).click();
    await page.getByLabel("Arguments").fill('{"path": "c.txt", "content": "edited"}');
    await page.getByRole("button", { name: "Allow these arguments once" }).click();
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
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("button", { name: "Allow every call of write_file in this session" }).click();
    await page.waitForSelector(".note:has-text('Approval of write_file is remembered for this session.')");
    await page.waitForSelector(".approval:has-text('edit_file')");
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("button", { name: "… in this project" }).click();
    await page.waitForSelector(".note:has-text('Approval of edit_file is remembered for this project.')");
    await page.waitForSelector(".figures");
  },

  /** A pattern is proposed, checked and remembered; what it does not match asks again. */
  async "remember-pattern"() {
    const page = await open();
    await start(page, "Write.");
    await settled(page);
    await page.getByRole("button", { name: "Always allow…" }).press("Enter");
    const pattern = page.getByLabel("whose path matches");
    assert.equal(await pattern.inputValue(), "notes/**");
    for (const [glob, fault] of [["**", "matches every call"], ["other/**", "does not match the argument"]]) {
      await pattern.fill(glob);
      await pattern.press("Enter");
      await page.locator(".request [role=alert]").filter({ hasText: fault }).waitFor();
      await pattern.waitFor();
    }
    await accessible(page, "pattern");
    await pattern.fill("notes/*.txt");
    await page.getByRole("radio", { name: "this project" }).check();
    await page.getByRole("button", { name: "Allow and remember" }).click();
    await page.waitForSelector(".note:has-text('Approval of write_file with path like notes/*.txt is remembered for this project.')");
    // The second call is covered, and the third is not.
    await page.waitForSelector(".approval .target:has-text('other.txt')");
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("button", { name: "Answer instead of running…" }).click();
    await page.getByLabel("Result, in place of the tool's").fill("It is there.");
    await page.getByRole("button", { name: "Answer without running it" }).click();
    await page.waitForSelector(".figures");
  },

  /** Long arguments are cut at 20 rows, which is said; a long unchanged run is folded. */
  async "long-approval"() {
    const page = await open();
    await start(page, "Write.");
    await page.waitForSelector(".request[aria-busy=false] .diff .removed");
    const rows = page.locator(".diff > *");
    const all = page.getByRole("button", { name: "Show all 42 rows" });
    await all.waitFor();
    assert.equal(await rows.count(), 20);
    await accessible(page, "long change");
    await all.press("Enter");
    assert.equal(await rows.count(), 42);
    await page.getByRole("button", { name: "Deny…" }).click();
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    // Two calls in a list, denied at once.
    const list = page.getByRole("list", { name: "Waiting calls" });
    await list.waitFor();
    assert.equal(await list.getByRole("listitem").count(), 2);
    // The frames are taller than the view, which begins with the list.
    await page.waitForFunction(() => {
      const [box, batch] = [".items", ".batch"].map((name) => document.querySelector(name).getBoundingClientRect());
      return batch.top >= box.top && batch.bottom <= box.bottom;
    });
    await list.getByRole("button").nth(1).press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.className), "approval");
    await page.getByRole("button", { name: "Show all 30 rows" }).click();
    assert.ok((await page.locator(".approval").nth(1).textContent()).includes("line 30"));
    await page.getByRole("button", { name: "Deny all" }).click();
    await page.waitForSelector(".note:has-text('denied 2 calls')");
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
      await page.getByRole("button", { name: "More", exact: true }).click();
      const buttons = await page.locator(".approval .actions button").allTextContents();
      const always = page.getByRole("button", { name: "Always allow…" });
      if (await always.count()) await always.click();
      const scopes = await page.getByRole("radio").count();
      return [await page.locator("#message").count(), await page.locator(".menu").count(), buttons, scopes];
    };
    const decide = ["Allow once", "Always allow…", "Deny…", "More"];
    const more = ["Edit the arguments…", "Answer instead of running…", "Allow every call of write_file in this session"];
    assert.deepEqual(await offered("viewer"), [0, 0, ["More"], 0]);
    assert.deepEqual(await offered("user"), [1, 1, ["More"], 0]);
    assert.deepEqual(await offered("approver"), [1, 1, [...decide, ...more], 0]);
    assert.deepEqual(await offered("operator"), [1, 1, [...decide, ...more, "… in this project"], 2]);
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
    await inside.getByRole("button", { name: "Allow once" }).click();
    await page.waitForSelector(".figures");
    await nested.locator(".reply:has-text('Seen to.')").waitFor();
    // The answer of the agent may be drawn before its call is.
    await page.waitForSelector(".request", { state: "detached" });
    await fits(page, "agents");
  },
};
