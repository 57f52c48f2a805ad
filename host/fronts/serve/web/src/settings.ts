// The settings of this browser: they stay here, and no server knows them.

import { useEffect, useState } from "preact/hooks";

export const THEMES = ["system", "light", "dark"] as const;
export const DENSITIES = ["comfortable", "compact"] as const;

export type Theme = (typeof THEMES)[number];
export type Density = (typeof DENSITIES)[number];

export interface Settings {
  theme: Theme;
  density: Density;
  /// Whether the desktop tells of a session that begins to wait.
  notify: boolean;
}

const PREFIX = "agent-host-";
const changed = new EventTarget();

function stored<T extends string>(name: string, known: readonly T[]): T {
  const found = localStorage.getItem(PREFIX + name);
  return known.find((one) => one === found) ?? known[0]!;
}

export function settings(): Settings {
  return {
    theme: stored("theme", THEMES),
    density: stored("density", DENSITIES),
    notify: stored("notify", ["off", "on"]) === "on",
  };
}

/// Stores settings and applies them to the page.
export function changeSettings(to: Partial<Settings>): void {
  const { theme, density, notify } = { ...settings(), ...to };
  localStorage.setItem(`${PREFIX}theme`, theme);
  localStorage.setItem(`${PREFIX}density`, density);
  localStorage.setItem(`${PREFIX}notify`, notify ? "on" : "off");
  applySettings();
  changed.dispatchEvent(new Event("change"));
}

export function applySettings(): void {
  const { theme, density } = settings();
  Object.assign(document.documentElement.dataset, { theme, density });
}

/// The settings, also after they change.
export function useSettings(): Settings {
  const [now, set] = useState(settings);
  useEffect(() => {
    const read = () => set(settings());
    changed.addEventListener("change", read);
    return () => changed.removeEventListener("change", read);
  }, []);
  return now;
}

/// Whether this browser can tell of anything; without TLS, only to its own machine.
export function canNotify(): boolean {
  return "Notification" in window && isSecureContext;
}

/// Turns the notifications on, if the user lets the browser do it; returns whether it does.
export async function allowNotifications(): Promise<boolean> {
  const isAllowed = canNotify() && (await Notification.requestPermission()) === "granted";
  changeSettings({ notify: isAllowed });
  return isAllowed;
}
