// Markdown in sections that are parsed one by one: a text that grows is parsed at its end alone, and
// no text can take the parser longer than its sections do.

/// A section, and whether it is Markdown; otherwise it is shown as it is.
export interface Section {
  text: string;
  parsed: boolean;
}

/// The longest paragraph.
const LONGEST = 4_000;

/// Marks of emphasis take the parser the square of their number: a thousand of them about 6 ms.
const MOST_MARKS = 1_000;
const MARKS = /[_*~`[\]<!]/g;

/// The longest list or table, whose items are parsed each by itself.
const LONGEST_LIST = 16_000;
const LONGEST_ITEM = 500;

/// Quotes and lists deep inside of each other; the parser calls itself for each.
const NESTED = /^(?:[ \t]*(?:>|[-*+][ \t]|\d+[.)][ \t])){12}|^[ \t]{40,}(?:>|[-*+][ \t]|\d+[.)][ \t])/m;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^\s*(?:\||[-*+]\s|\d+[.)]\s)/;

/// A line that a blank one separates from what is before it: neither a part nor an item of a list.
const STARTS_ANEW = /^(?!\s|[-*+]\s|\d+[.)]\s)/;

export function sections(text: string): Section[] {
  if (text.length <= LONGEST) return [section(text, false)];
  const found: Section[] = [];
  let lines: string[] = [];
  let fence = "";
  let blank = false;
  const end = (fenced: boolean) => {
    const text = lines.join("\n");
    if (text.trim() !== "") found.push(section(text, fenced));
    lines = [];
  };
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence !== "") {
      lines.push(line);
      if (mark.startsWith(fence) && line.trim() === mark) {
        end(true);
        fence = "";
      }
      continue;
    }
    if (mark !== "") {
      end(false);
      fence = mark;
    } else if (blank && STARTS_ANEW.test(line)) {
      end(false);
    }
    lines.push(line);
    blank = line.trim() === "";
  }
  end(fence !== "");
  return found;
}

function section(text: string, fenced: boolean): Section {
  const isList = () =>
    text.length <= LONGEST_LIST && text.split("\n").every((line) => line.length <= LONGEST_ITEM && (line === "" || ITEM.test(line)));
  const isMarked = () => (text.match(MARKS)?.length ?? 0) > MOST_MARKS;
  return { text, parsed: fenced || ((text.length <= LONGEST || isList()) && !NESTED.test(text) && !isMarked()) };
}
