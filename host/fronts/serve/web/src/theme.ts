// Light or dark: what the system says, unless the user chose.

const KEY = "agent-host-theme";

export type Theme = "system" | "light" | "dark";

export function theme(): Theme {
  const found = localStorage.getItem(KEY);
  return found === "light" || found === "dark" ? found : "system";
}

export function applyTheme(chosen: Theme = theme()): void {
  localStorage.setItem(KEY, chosen);
  document.documentElement.dataset["theme"] = chosen;
}
