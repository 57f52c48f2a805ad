// The dialog for the settings of this browser.

import { useEffect, useRef, useState } from "preact/hooks";
import { allowNotifications, canNotify, changeSettings, DENSITIES, THEMES, useSettings } from "./settings";

export function Preferences({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { theme, density, notify } = useSettings();
  const [problem, setProblem] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const toggle = async (on: boolean) => {
    setProblem("");
    if (!on) return changeSettings({ notify: false });
    if (!(await allowNotifications())) setProblem("The browser does not allow notifications of this page.");
  };
  return (
    <dialog ref={dialog} onClose={close} aria-label="Settings">
      <h2>Settings of this browser</h2>
      <Choices name="Theme" all={THEMES} chosen={theme} choose={(theme) => changeSettings({ theme })} />
      <Choices name="Density" all={DENSITIES} chosen={density} choose={(density) => changeSettings({ density })} />
      <label class="choice">
        <input type="checkbox" checked={notify} disabled={!canNotify()} onChange={(event) => void toggle(event.currentTarget.checked)} />
        Notify on the desktop when a session starts to wait for you
      </label>
      {problem && <p class="error" role="alert">{problem}</p>}
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

interface ChoicesProps<T> {
  name: string;
  all: readonly T[];
  chosen: T;
  choose: (one: T) => void;
}

function Choices<T extends string>({ name, all, chosen, choose }: ChoicesProps<T>) {
  return (
    <fieldset>
      <legend>{name}</legend>
      <div class="scopes">
        {all.map((one) => (
          <label key={one} class="choice">
            <input type="radio" name={name} checked={one === chosen} onChange={() => choose(one)} />
            {one}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
