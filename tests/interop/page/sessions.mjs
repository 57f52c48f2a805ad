// The sessions as a whole: their list, names, copies and usage, and the graphs of workflows.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { accessible, argument, fits, open, openLink, picture, start } from "./browser.mjs";

/** What a day, a model or an agent used. */
const FIGURES = {
  sessions: 1,
  model_calls: 1,
  input_tokens: 1,
  cached_input_tokens: 0,
  output_tokens: 1,
  unpriced_model_calls: 0,
  tool_calls: 0,
  failed: 0,
  denied: 0,
  tool_us: 0,
};

export const actions = {
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

  async memory() {
    const page = await open();
    await start(page, "What is new?");
    await page.waitForSelector(".figures");
    await page.waitForSelector("text=It says: Herons <b>stand</b> still.");
    await page.goto(`${page.url().split("#")[0]}#/memory`);
    const items = page.getByRole("list", { name: "Items" }).getByRole("listitem");
    await items.nth(1).waitFor();
    const [hostile, own] = [items.nth(0), items.nth(1)];
    assert.match(await hostile.textContent(), /Herons <b>stand<\/b> still\.From untrusted sources: http:127\.0\.0\.1/);
    assert.equal(await own.getByRole("button", { name: /^Trust/ }).count(), 0);
    await accessible(page, "memory");
    await fits(page, "memory");
    await picture(page, "memory");
    await hostile.getByRole("button", { name: /^Trust/ }).click();
    await page.waitForSelector("text=Trusted.");
    assert.equal(await items.getByRole("button", { name: /^Trust/ }).count(), 0);
    await page.getByLabel("Words").fill("bird");
    await page.waitForFunction(() => document.querySelectorAll("[aria-label=Items] li").length === 1);
    await items.nth(0).getByRole("button", { name: /^Forget/ }).click();
    await page.waitForSelector("text=No item has one of these words.");
    await page.getByLabel("Words").fill("");
    await page.waitForSelector("text=Herons");
    assert.equal(await items.count(), 1);
  },

  async "many-sessions"() {
    const page = await open();
    const shown = (count) =>
      page.waitForFunction((count) => document.querySelectorAll(".sessions li").length === count, count);
    const older = page.getByRole("button", { name: "Show older sessions" });
    const all = Number(argument);
    // One that is not loaded is found by the server, by its name.
    await shown(100);
    await page.getByLabel("Search sessions").fill("needle");
    await shown(1);
    assert.equal(await page.locator(".sessions .title").textContent(), "needle");
    await page.getByLabel("Search sessions").fill("");
    for (let count = 100; count < all; count += 200) {
      await shown(count);
      await older.click();
    }
    await shown(all);
    assert.equal(await older.count(), 0);
  },

  /** Words of a conversation are found by keys alone, with the place where they are. */
  async search() {
    const page = await open();
    await start(page, "Which bird?");
    await page.waitForSelector(".figures");
    await page.evaluate(() => (location.hash = "#/"));
    await page.waitForSelector("h1:has-text('What should')");
    await start(page, "And now?");
    await page.waitForSelector(".figures");
    await page.locator("h1").click();
    await page.keyboard.press("/");
    await page.keyboard.type("stand hero");
    const found = page.getByRole("region", { name: "In the texts" });
    await found.getByRole("listitem").first().waitFor();
    assert.equal(await found.getByRole("listitem").count(), 1);
    assert.deepEqual(await found.locator("mark").allTextContents(), ["heron", "stands"]);
    assert.equal(await found.locator(".extract").textContent(), "The heron <b>stands</b> \\u{202e}still.");
    assert.equal(await found.locator("b").count(), 0);
    await accessible(page, "found texts");
    for (let presses = 0; presses < 4; presses += 1) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement.closest(".found") !== null)) break;
    }
    await page.keyboard.press("Enter");
    await page.getByText("Which bird?").last().waitFor();
    await page.fill("#search", "nothing like it");
    await found.getByRole("status").filter({ hasText: "No text matches." }).waitFor();
    await fits(page, "search");
  },

  /** A link is made by keys, read in another browser, and revoked; it shows one session, to be read. */
  async share() {
    const page = await open();
    await start(page, "Write.");
    await page.waitForSelector(".approval");
    await page.locator(".menu summary").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Share…" }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Share" });
    await dialog.getByRole("radio", { name: "24 hours" }).waitFor();
    assert.ok(await dialog.getByRole("radio", { name: "24 hours" }).isChecked());
    await dialog.getByRole("button", { name: "Make a link" }).focus();
    await page.keyboard.press("Enter");
    const link = dialog.getByLabel("The link, which is not shown again");
    await link.waitFor();
    const address = await link.inputValue();
    assert.match(address, /#link=[\w-]{40,}$/);
    await accessible(page, "share");
    // Another browser reads the conversation, and nothing else.
    const reader = await openLink(address);
    await reader.locator(".call").waitFor();
    await reader.getByText("This session waits for its user.").waitFor();
    assert.equal(await reader.locator("nav, .composer, .approval, .menu").count(), 0);
    assert.deepEqual(await reader.locator(".actions button").allTextContents(), ["Conversation", "Timeline"]);
    await accessible(reader, "linked session");
    await reader.reload();
    await reader.locator(".call").waitFor();
    // One for a single use has its reader.
    await dialog.getByRole("checkbox").check();
    await dialog.getByRole("button", { name: "Make a link" }).click();
    await page.waitForFunction((before) => document.querySelector(".share input[readonly]").value !== before, address);
    const single = await link.inputValue();
    const first = await openLink(single);
    await first.locator(".call").waitFor();
    await first.reload();
    await first.locator(".call").waitFor();
    const second = await openLink(single);
    await second.getByRole("alert").filter({ hasText: "shows nothing any more" }).waitFor();
    const rows = dialog.getByRole("listitem");
    assert.equal(await rows.count(), 2);
    await dialog.getByRole("button", { name: /^Revoke the link/ }).last().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".share li").length === 1);
    const late = await openLink(address);
    await late.getByRole("alert").filter({ hasText: "shows nothing any more" }).waitFor();
    await picture(page, "revoked");
  },

  /** Examples fill the field for a message, by keys alone; sessions are grouped by their days. */
  async "start-page"() {
    const page = await open();
    await page.getByRole("heading", { name: "What should the agent do?" }).waitFor();
    assert.equal(await page.locator(".pickers").textContent(), "Agentdefaultclerkgeneral-purposeModel openai-compat:m");
    await page.getByLabel("Agent").selectOption("clerk");
    await page.locator(".pickers:has-text('Sorts letters.')").waitFor();
    const examples = page.getByRole("region", { name: "Examples" }).getByRole("button");
    assert.equal(await examples.count(), 3);
    const text = await examples.nth(1).textContent();
    await examples.nth(1).press("Enter");
    assert.equal(await page.locator("#message").inputValue(), text);
    assert.equal(await page.evaluate(() => document.activeElement.id), "message");
    await accessible(page, "start");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".figures");
    const today = page.getByRole("region", { name: "Today" });
    assert.equal(await today.getByRole("listitem").count(), 1);
    assert.equal(await today.locator(".title").textContent(), text);
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
    assert.equal(await usage.locator(".chart").count(), 0);
    // Days with and without use, and a name that is no markup.
    const figures = (name, cost_micros) => ({ ...FIGURES, name, cost_micros });
    const answers = {
      day: [figures("2026-03-30", 10_000), figures("2026-04-02", 40_000)],
      agent: [figures("<img src=x onerror='window.harmed=1'>", 20_000), figures("clerk", 0)],
    };
    await page.route("**/stats?*", (route) => {
      const rows = answers[new URL(route.request().url()).searchParams.get("by")];
      return route.fulfill({ json: { rows, total: figures("", 50_000), unreadable: [] } });
    });
    await usage.getByRole("combobox", { name: "By" }).selectOption("day");
    const chart = usage.getByRole("img", { name: "cost by day, at most $0.04 (2026-04-02)" });
    await chart.waitFor();
    const bars = () => usage.locator(".chart rect").evaluateAll((all) => all.map((bar) => [bar.textContent, bar.getAttribute("height")]));
    assert.deepEqual(await bars(), [
      ["2026-03-30: $0.01", "10"],
      ["2026-03-31: $0.0000", "0"],
      ["2026-04-01: $0.0000", "0"],
      ["2026-04-02: $0.04", "40"],
    ]);
    await accessible(page, "usage");
    await fits(page, "usage");
    await usage.getByRole("combobox", { name: "By" }).selectOption("agent");
    await usage.getByRole("img", { name: /^cost by agent/ }).waitFor();
    assert.deepEqual(await bars(), [["<img src=x onerror='window.harmed=1'>: $0.02", "40"], ["clerk: $0.0000", "0"]]);
    assert.equal(await page.evaluate(() => window.harmed), undefined);
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
    await fits(page, "graph");
  },

  /** Sessions are found by their text, and by what they wait for. */
  async list() {
    const page = await open();
    const titles = () => page.locator(".sessions .title").allTextContents();
    await page.waitForFunction(() => document.querySelectorAll(".sessions li").length === 4);
    for (const [state, expected] of [
      ["waiting", ["waits for approval"]],
      ["running", ["runs for long"]],
      ["failed", ["fails at once"]],
      ["done", ["<img src=x onerror=alert(6)> is done"]],
    ]) {
      await page.getByLabel("State").selectOption(state);
      assert.deepEqual(await titles(), expected, state);
      await picture(page, state);
    }
    await page.getByLabel("State").selectOption("");
    for (const [text, expected] of [
      ["APPROVAL waits", ["waits for approval"]],
      ["onerror", ["<img src=x onerror=alert(6)> is done"]],
      ["nothing like it", []],
    ]) {
      await page.getByLabel("Search sessions").fill(text);
      assert.deepEqual(await titles(), expected, text);
    }
    await page.waitForSelector("text=No session matches.");
    await accessible(page, "list");
  },

  /** The theme is the system's until the user chooses one, which stays. */
  async theme() {
    const page = await open("", { colorScheme: "dark" });
    const back = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const [dark, light] = ["rgb(20, 22, 26)", "rgb(255, 255, 255)"];
    assert.equal(await back(), dark);
    await page.getByRole("button", { name: "Theme: system" }).click();
    assert.equal(await back(), light);
    await page.reload();
    assert.equal(await back(), light);
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.emulateMedia({ colorScheme: "light" });
    assert.equal(await back(), dark);
  },

  /** The palette goes to a session and runs commands, by keys alone, and is read by its names. */
  async palette() {
    const page = await open();
    await start(page, "First things.");
    await page.waitForSelector(".figures");
    const first = page.url();
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Palette" });
    const field = palette.getByRole("combobox", { name: "Go to a session or run a command" });
    await field.waitFor();
    const selected = palette.getByRole("option", { selected: true });
    assert.equal(await selected.locator("span").first().textContent(), "New session");
    assert.equal(await field.getAttribute("aria-activedescendant"), await selected.getAttribute("id"));
    await accessible(page, "palette");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash === "#/");
    // Also from a field.
    await page.locator("#message").press("Meta+k");
    await page.keyboard.type("first");
    await palette.getByRole("option", { name: "First things." }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForFunction((url) => location.href === url, first);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("theme");
    await page.keyboard.press("ArrowDown");
    assert.match(await selected.textContent(), /^Theme: dark/);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    assert.match(await selected.textContent(), /^Theme: dark/);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("nothing like it");
    await palette.getByText("Nothing matches.").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("help");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.waitForTimeout(50);
    assert.equal(await page.locator("dialog[open]").count(), 1);
  },

  /** The settings stay in the browser, and a session that waits is told on the desktop. */
  async settings() {
    const page = await open("", { permissions: ["notifications"] });
    await page.evaluate(() => {
      window.told = [];
      window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, { body }) {
          window.told.push(`${title} ${body}`);
        }
      };
      document.hasFocus = () => false;
    });
    await page.getByRole("button", { name: "Settings" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Settings" });
    await dialog.getByRole("radio", { name: "compact" }).check();
    await dialog.getByRole("radio", { name: "light" }).check();
    await dialog.getByRole("checkbox", { name: "Notify on the desktop" }).check();
    await accessible(page, "settings");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await start(page, "Write.");
    await page.waitForFunction(() => window.told.length > 0);
    assert.deepEqual(await page.evaluate(() => window.told), ["Write. waiting for approval"]);
    await fits(page, "compact");
    await page.reload();
    await page.waitForSelector(".approval");
    const kept = await page.evaluate(() => ({ ...document.documentElement.dataset }));
    assert.deepEqual(kept, { theme: "light", density: "compact" });
    await page.getByRole("button", { name: "Settings" }).click();
    assert.ok(await dialog.getByRole("checkbox").isChecked());
  },

  /** The timeline has what each step used, which rule decided, and the call what would allow it. */
  async steps() {
    const page = await open();
    await start(page, "Look.");
    await page.waitForSelector(".figures");
    await page.getByRole("button", { name: "Timeline" }).click();
    const rows = await page.locator(".timeline tbody tr").evaluateAll((all) =>
      all.map((row) => [...row.children].slice(0, 5).map((cell) => cell.textContent.trim())),
    );
    const find = (name) => rows.find(([step]) => step === name);
    assert.match(find("read_file")[4], /^[\d.]+ m?s of [\d.]+ (m?s|min 0 s), [\d.]+ [KM]iB of [\d.]+ MiB memory, \d+ B read, 0 B written$/);
    assert.match(find("read_file")[3], /^allowed read \S*a\.txt by \S+/);
    assert.match(find("fetch")[3], /^denied GET https:\/\/example\.com\/ by default-deny$/);
    assert.equal(find("fetch")[1], "denied");
    assert.deepEqual(find("turn 1").slice(1), ["needs more turns", "", "2 calls", "11 + 7 tokens, $0.0081"]);
    assert.deepEqual(find("turn 2").slice(1), ["done", "", "", "11 + 7 tokens, $0.0081"]);
    await accessible(page, "timeline");
    await fits(page, "timeline");
    await page.getByRole("button", { name: "Conversation" }).click();
    await page.locator(".call:has-text('GET example.com') summary").click();
    await page.locator(".audit summary").click();
    const grant = await page.locator(".audit pre").textContent();
    assert.ok(grant.includes('host = "example.com"'), grant);
    assert.match(await page.locator(".opened").textContent(), /Used [\d.]+ m?s of/);
    await accessible(page, "denied call");
  },
};
