// What a user does on the page, by name: `node page.mjs NAME BASE TOKEN [ARGUMENT]`. PAGE_PACKAGES is
// the directory with playwright-core and axe-core. PAGE_PICTURES is one for pictures of the page, and
// PAGE_DIST one with a bundle that is used in place of the server's, to try a change of the page.

import assert from "node:assert/strict";
import { browser, faults, name, picture } from "./browser.mjs";

const SUBJECTS = ["approvals", "connection", "conversation", "files", "hostile", "questions", "sessions"];

const subjects = await Promise.all(SUBJECTS.map((subject) => import(`./${subject}.mjs`)));
const actions = Object.assign({}, ...subjects.map(({ actions }) => actions));

try {
  await actions[name]();
  assert.deepEqual(faults, []);
} catch (error) {
  const pages = browser.contexts().flatMap((context) => context.pages());
  for (const [index, page] of pages.entries()) await picture(page, `failed-${index}`);
  throw error;
} finally {
  await browser.close();
}
// Standard input is open as long as the test is.
process.exit();
