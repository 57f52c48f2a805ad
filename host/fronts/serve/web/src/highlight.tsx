// Code as coloured elements, a little later than its text. Code that takes long to read stays plain.

import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { ComponentChildren } from "preact";

/// The grammars take some texts the square of their length, or of that of a line.
const LONGEST = 3_000;
const LONGEST_LINE = 300;

/// A grammar that once took longer, in milliseconds, is not used again.
const SLOW_MS = 30;

/// The deepest elements; what is inside of them is plain.
const DEPTH = 12;

type Draw = (drawn: ComponentChildren) => void;

interface Job {
  text: string;
  language: string;
  draw: Draw;
}

const grammars = createLowlight();
const all = { bash, c, cpp, css, diff, go, ini, java, javascript, json, python, rust, sql, typescript, xml, yaml };
let isReady = false;
const slow = new Set<string>();
const jobs = new Set<Job>();

/// Colours a text in a task of its own, and returns what cancels it.
export function highlight(text: string, language: string, draw: Draw): () => void {
  const name = language.toLowerCase().split(/[\s,{]/)[0]!;
  const isShort = text.length <= LONGEST && text.split("\n").every((line) => line.length <= LONGEST_LINE);
  if (name === "" || !isShort || slow.has(name)) return () => {};
  const job = { text, language: name, draw };
  if (jobs.size === 0) setTimeout(next);
  jobs.add(job);
  return () => jobs.delete(job);
}

function next(): void {
  const [job] = jobs;
  if (!job) return;
  jobs.delete(job);
  if (jobs.size > 0) setTimeout(next);
  if (!isReady) grammars.register(all);
  isReady = true;
  const { text, language, draw } = job;
  if (slow.has(language) || !grammars.registered(language)) return;
  const start = performance.now();
  try {
    const tree = grammars.highlight(language, text);
    if (performance.now() - start > SLOW_MS) slow.add(language);
    draw(elements(tree.children, 0));
  } catch {
    // It stays plain.
    slow.add(language);
  }
}

type Node = ReturnType<typeof grammars.highlight>["children"][number];

function elements(nodes: Node[], depth: number): ComponentChildren {
  return nodes.map((node, index) => {
    if (node.type === "text") return node.value;
    if (node.type !== "element") return null;
    if (depth > DEPTH) return written(node);
    const { className } = node.properties;
    return (
      <span key={index} class={Array.isArray(className) ? className.join(" ") : ""}>
        {elements(node.children as Node[], depth + 1)}
      </span>
    );
  });
}

/// The text of an element, without a call for each level of it.
function written(node: Node): string {
  let text = "";
  const left: Node[] = [node];
  for (let one = left.pop(); one; one = left.pop()) {
    if (one.type === "text") text += one.value;
    else if (one.type === "element") left.push(...([...one.children].reverse() as Node[]));
  }
  return text;
}
