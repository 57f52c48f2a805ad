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

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function cost(micros: number): string {
  return `$${(micros / 1e6).toFixed(micros < 10_000 ? 4 : 2)}`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export function count(n: number): string {
  return n.toLocaleString("en");
}

/// Makes characters visible that a reader cannot see or that reorder what surrounds them.
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\u034f\u115f\u1160\u17b4\u17b5\u2028\u2029\u3164\uffa0]/gu,
    (found) => (/[\n\r\t]/.test(found) ? found : `\\u{${found.codePointAt(0)!.toString(16)}}`),
  );
}
