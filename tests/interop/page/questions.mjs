// Questions of models and tools.

import assert from "node:assert/strict";
import { accessible, open, start } from "./browser.mjs";

export const actions = {
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

  /** A question that is open in two windows is answered in one, and closed in both. */
  async "question-in-two-windows"() {
    const page = await open();
    await start(page, "Ask me.");
    await page.getByLabel("green").waitFor();
    const other = await open(new URL(page.url()).hash);
    await other.getByLabel("Or in your own words").fill("yellow");
    await page.getByLabel("green").check();
    await page.getByRole("button", { name: "Answer" }).click();
    for (const window of [page, other]) {
      await window.waitForSelector(".figures");
      assert.equal(await window.locator(".request").count(), 0);
      await window.waitForSelector(".note:has-text('operator answered the question.')");
    }
  },
};
