// The last step of all text of the page: every text and every attribute that is read passes here,
// since whatever a model, a tool or a file wrote may hide or reorder what surrounds it. Imported
// before anything is rendered.

import { options, type VNode } from "preact";
import { visible } from "./format";

/// The attributes whose text is read or heard.
const READ = ["alt", "aria-description", "aria-label", "aria-valuetext", "label", "placeholder", "title"];

const then = options.vnode;
options.vnode = (vnode: VNode) => {
  // A text is a node without a type, and its text in the place of properties.
  const node = vnode as unknown as { type: unknown; props: unknown };
  if (typeof node.props === "string") node.props = visible(node.props);
  if (typeof node.type === "string") {
    const attributes = node.props as Record<string, unknown>;
    for (const name of READ) {
      const text = attributes[name];
      if (typeof text === "string") attributes[name] = visible(text);
    }
  }
  then?.(vnode);
};
