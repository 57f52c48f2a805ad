// Markdown as elements, from the parser's tokens. HTML in it is text, and images are links.

import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Code } from "./code";
import { size } from "./format";
import { Guarded } from "./guarded";
import { Most } from "./most";
import { type Section, sections } from "./sections";

/// The characters of a text that are shown at first.
const LONG = 30_000;

/// The sections of a text that are shown at first.
const SECTIONS = 200;

/// The time for which one task of the page parses, in milliseconds. What is left waits for the next.
const PARSING_MS = 10;

let deadline = 0;

/// Whether the running task may parse any longer.
function mayParse(): boolean {
  const now = performance.now();
  if (deadline === 0) {
    deadline = now + PARSING_MS;
    setTimeout(() => (deadline = 0));
  }
  return now < deadline;
}

export function Markdown({ text }: { text: string }) {
  const [shown, setShown] = useState(LONG);
  const [, redraw] = useState(0);
  const known = useRef(new Map<string, ComponentChildren>());
  const used = new Map<string, ComponentChildren>();
  const rest = text.length - shown;
  const parsed: ComponentChildren[] = [];
  let isWhole = true;
  for (const section of sections(text.slice(0, shown))) {
    let drawn = known.current.get(section.text);
    if (drawn === undefined) {
      isWhole = mayParse();
      if (!isWhole) break;
      drawn = parse(section);
    }
    used.set(section.text, drawn);
    parsed.push(drawn);
  }
  known.current = used;
  useEffect(() => {
    if (isWhole) return;
    const timer = setTimeout(() => redraw((times) => times + 1));
    return () => clearTimeout(timer);
  });
  return (
    <div class="markdown">
      <Most
        items={parsed}
        step={SECTIONS}
        show={(section, index) => (
          <Guarded key={index}>{section}</Guarded>
        )}
      />
      {isWhole && rest > 0 && (
        <button type="button" class="quiet" onClick={() => setShown(shown + LONG)}>
          Show more ({size(rest)} left)
        </button>
      )}
    </div>
  );
}

function parse({ text, parsed }: Section): ComponentChildren {
  const plain = <p class="prompt">{text}</p>;
  if (!parsed) return plain;
  try {
    return <>{blocks(lexer(text))}</>;
  } catch {
    // It is nested too deep for the parser.
    return plain;
  }
}

function blocks(tokens: Token[]): ComponentChildren {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

function Block({ token }: { token: Token }): ComponentChildren {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      // The page has one heading of its own above them.
      const Tag = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3";
      return <Tag>{inline(token.tokens)}</Tag>;
    }
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "hr":
      return <hr />;
    case "code":
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang ?? ""} copies />;
    case "list": {
      const list = token as Tokens.List;
      const items = list.items.map((item, index) => (
        <li key={index}>
          {item.task && <input type="checkbox" checked={item.checked ?? false} disabled aria-label="task" />}
          {blocks(item.tokens)}
        </li>
      ));
      return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "text":
      return token.tokens ? <>{inline(token.tokens)}</> : <>{plain(token)}</>;
    default:
      return <p>{plain(token)}</p>;
  }
}

function Table({ table }: { table: Tokens.Table }) {
  const cells = (row: Tokens.TableCell[], Tag: "td" | "th") =>
    row.map((cell, index) => (
      <Tag key={index} class={cell.align ? `align-${cell.align}` : ""}>
        {inline(cell.tokens)}
      </Tag>
    ));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="table">
      <table>
        <thead>
          <tr>{cells(table.header, "th")}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={(token as Tokens.Link).href}>{inline(token.tokens)}</Link>;
    case "image":
      return <Link href={(token as Tokens.Image).href}>{(token as Tokens.Image).text || "image"}</Link>;
    default:
      return token.type === "text" && token.tokens ? <>{inline(token.tokens)}</> : <>{plain(token)}</>;
  }
}

/// The text of a token. The parser escapes nothing, but the source of an escape has a backslash.
function plain(token: Token): string {
  return "text" in token && token.type !== "html" ? String(token.text) : token.raw;
}

/// A link to the web or to a mailbox, which shows where it leads; any other is its text.
export function Link({ href, children }: { href: string; children: ComponentChildren }) {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return <>{children}</>;
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return <>{children}</>;
  return (
    <a href={url.href} title={url.href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
