// Figures in words.

export function age(ms: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 60) return "just now";
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 36) return `${hours} h ago`;
  return `${Math.round(hours / 24)} days ago`;
}

const WEEKDAY = new Intl.DateTimeFormat("en", { weekday: "long" });
const DATE = new Intl.DateTimeFormat("en", { day: "numeric", month: "long", year: "numeric" });

/// The day of a time, as the user would say it.
export function day(ms: number, now = Date.now()): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const days = Math.round((midnight - new Date(ms).setHours(0, 0, 0, 0)) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  return days < 7 ? WEEKDAY.format(ms) : DATE.format(ms);
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function cost(micros: number): string {
  return `$${(micros / 1e6).toFixed(micros < 10_000 ? 4 : 2)}`;
}

export function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  const unit = Math.min(3, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  // Tenths are cut, as the program writes them.
  return unit === 0 ? `${bytes} B` : `${(Math.floor((bytes * 10) / 1024 ** unit) / 10).toFixed(1)} ${units[unit]}`;
}

/// Made once, and before anything is drawn: the first one of a page takes a browser 14 ms.
const COUNTS = new Intl.NumberFormat("en");

export function count(n: number): string {
  return COUNTS.format(n);
}

/// Letters of the scripts that are written with joiners, and the characters that are hidden: those
/// of `escape_line` in `core/engine/src/text.rs`.
const LETTER = "[\\u0620-\\u0dff\\u1000-\\u109f\\u1780-\\u17b3\\u17b6-\\u180a\\u1810-\\u18af\\ufb50-\\ufdff\\ufe70-\\ufefc]";
const EMOJI = "\\p{Extended_Pictographic}";
const SHAPING = [
  `(?<=[${EMOJI}\\p{Emoji_Modifier}])[\\ufe0e\\ufe0f]`,
  "[\\ufe0e\\ufe0f](?=\\u20e3)",
  `(?<=[${EMOJI}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=${EMOJI})`,
  `(?<=${LETTER})[\\u200c\\u200d](?=${LETTER})`,
];
const HIDDEN = new RegExp(
  `(?<shaping>${SHAPING.join("|")})|(?![\\n\\r\\t])[\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2028\\u2029\\u2800\\ufff9-\\ufffb]`,
  "gu",
);

/// Makes characters visible that a reader cannot see or that reorder what surrounds them.
export function visible(text: string): string {
  return text.replace(HIDDEN, (found, shaping?: string) =>
    shaping === undefined ? `\\u{${found.codePointAt(0)!.toString(16)}}` : found,
  );
}
