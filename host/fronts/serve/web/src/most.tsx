// A list of which the first items are shown, and further ones on request: a session may have any
// number of them, and the page stays responsive.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count } from "./format";

interface Props<T> {
  items: T[];
  /// The items at first, and those that each request adds.
  step: number;
  show: (item: T, index: number) => ComponentChildren;
  /// The element around the items; none by default.
  within?: (items: ComponentChildren) => ComponentChildren;
}

export function Most<T>({ items, step, show, within = (items) => items }: Props<T>) {
  const [shown, setShown] = useState(step);
  const rest = items.length - shown;
  return (
    <>
      {within(items.slice(0, shown).map(show))}
      {rest > 0 && (
        <button type="button" class="quiet" onClick={() => setShown(shown + step)}>
          Show {count(Math.min(rest, step))} of {count(rest)} more
        </button>
      )}
    </>
  );
}
