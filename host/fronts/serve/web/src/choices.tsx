// The forms of the choices about a call: what to remember, why not, and other arguments.

import { useContext, useState } from "preact/hooks";
import { patternFault, proposePattern } from "./pattern";
import { RightsContext } from "./rights";
import type { JsonObject, PendingCall, Remember } from "./types";

type Scope = Remember["scope"];

interface AlwaysProps {
  call: PendingCall;
  /// The name of the argument that says what the call is about.
  about: string | undefined;
  busy: boolean;
  remember: (remember: Remember) => void;
}

/// Remembers the approval for calls whose target matches a pattern; without a target, for calls with
/// exactly these arguments.
export function AlwaysForm({ call, about, busy, remember }: AlwaysProps) {
  const text = about === undefined ? "" : String(call.input[about]);
  const [glob, setGlob] = useState(() => proposePattern(text));
  const [scope, setScope] = useState<Scope>("session");
  const [fault, setFault] = useState("");
  const { operate } = useContext(RightsContext);
  const submit = () => {
    if (about === undefined) return remember({ what: "arguments", scope });
    const found = patternFault(glob);
    setFault(found);
    const pointer = `/${about.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (!found) remember({ what: { pattern: { pointer, glob } }, scope });
  };
  return (
    <form
      class="choice-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {about === undefined ? (
        <p tabIndex={-1}>Calls of this tool with exactly these arguments.</p>
      ) : (
        <label>
          Calls of this tool whose <code>{about}</code> matches
          <input class="pattern" spellcheck={false} value={glob} onInput={(event) => setGlob(event.currentTarget.value)} />
        </label>
      )}
      {fault && <p class="error" role="alert">{fault}</p>}
      <Scopes scope={scope} set={setScope} operate={operate} />
      <button class="primary" disabled={busy}>
        Allow and remember
      </button>
    </form>
  );
}

function Scopes({ scope, set, operate }: { scope: Scope; set: (scope: Scope) => void; operate: boolean }) {
  if (!operate) return <p class="quiet">For this session.</p>;
  return (
    <div class="scopes" role="radiogroup" aria-label="Remember for">
      {(["session", "project"] as const).map((one) => (
        <label key={one} class="choice">
          <input type="radio" name="scope" checked={scope === one} onChange={() => set(one)} />
          this {one}
        </label>
      ))}
    </div>
  );
}

interface TextProps {
  busy: boolean;
  give: (text: string) => void;
}

export function DenyForm({ busy, give }: TextProps) {
  const [reason, setReason] = useState("");
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        give(reason);
      }}
    >
      <label class="grow">
        Reason, for the model (optional)
        <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      <button disabled={busy}>Deny</button>
    </form>
  );
}

export function RespondForm({ busy, give }: TextProps) {
  const [text, setText] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        give(text);
      }}
    >
      <label>
        Result, in place of the tool's
        <textarea rows={4} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button disabled={busy || text === ""}>Answer without running it</button>
    </form>
  );
}

interface EditProps {
  input: JsonObject;
  busy: boolean;
  give: (input: JsonObject) => void;
}

export function EditForm({ input, busy, give }: EditProps) {
  const [text, setText] = useState(() => JSON.stringify(input, null, 2));
  const [fault, setFault] = useState("");
  const submit = () => {
    try {
      const edited = JSON.parse(text) as JsonObject;
      if (typeof edited !== "object" || edited === null || Array.isArray(edited)) throw new Error("not an object");
      give(edited);
    } catch (error) {
      setFault(`The arguments are not a JSON object: ${(error as Error).message}`);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label>
        Arguments
        <textarea rows={8} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {fault && <p class="error" role="alert">{fault}</p>}
      <button disabled={busy}>Allow these arguments once</button>
    </form>
  );
}
