// The form of a tool's question: an input for each field. The host checks the values again.

import type { FieldKind, FormField, Json, JsonObject } from "./types";

/// The text of each field at first: its default.
export function initial(fields: FormField[]): string[] {
  return fields.map((field) => (field.default === undefined || field.default === null ? "" : String(field.default)));
}

/// The values of the fields that are filled in.
export function values(fields: FormField[], typed: string[]): JsonObject {
  const entries = fields.map((field, index): [string, Json] => [field.name, value(field.kind, typed[index] ?? "")]);
  return Object.fromEntries(entries.filter(([, given]) => given !== ""));
}

function value(kind: FieldKind, typed: string): Json {
  if (typed === "") return "";
  if (kind.type === "number" || kind.type === "integer") return Number(typed);
  return kind.type === "boolean" ? typed === "true" : typed;
}

export function FormFields({ fields, typed, set }: { fields: FormField[]; typed: string[]; set: (typed: string[]) => void }) {
  return (
    <>
      {fields.map((field, index) => (
        <label key={index}>
          {field.title ?? field.name}
          {field.required && " (required)"}
          {field.description && <span class="quiet"> {field.description}</span>}
          <FieldInput field={field} typed={typed[index] ?? ""} set={(text) => set(typed.map((other, at) => (at === index ? text : other)))} />
        </label>
      ))}
    </>
  );
}

function FieldInput({ field, typed, set }: { field: FormField; typed: string; set: (text: string) => void }) {
  const { kind, required = false } = field;
  if (kind.type === "boolean" || kind.type === "one") {
    const choices = kind.type === "one" ? kind.choices : [{ value: "true", title: "Yes" }, { value: "false", title: "No" }];
    return (
      <select value={typed} required={required} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">–</option>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.title ?? choice.value}
          </option>
        ))}
      </select>
    );
  }
  const onInput = (event: { currentTarget: HTMLInputElement }) => set(event.currentTarget.value);
  if (kind.type === "text") {
    return <input placeholder={kind.format ?? ""} value={typed} required={required} minLength={kind.min_length} maxLength={kind.max_length} onInput={onInput} />;
  }
  const step = kind.type === "integer" ? 1 : "any";
  return <input type="number" value={typed} required={required} step={step} min={kind.minimum} max={kind.maximum} onInput={onInput} />;
}
