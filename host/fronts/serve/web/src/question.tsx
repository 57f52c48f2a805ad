// A question of a tool, and the answer to it.

import { useContext, useState } from "preact/hooks";
import { FormFields, initial, values } from "./form";
import { Prose } from "./output";
import { RightsContext } from "./rights";
import type { AnswerForm, Question } from "./types";

interface Props {
  tool: string;
  question: Question;
  send: (form: AnswerForm) => Promise<void>;
}

export function QuestionView({ tool, question, send }: Props) {
  const choices = question.choices ?? [];
  const [picked, setPicked] = useState<number[]>([]);
  const [text, setText] = useState("");
  const fields = question.form;
  const [typed, setTyped] = useState(() => initial(fields ?? []));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const give = async (form: AnswerForm) => {
    setBusy(true);
    try {
      await send(form);
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  const answer = () => {
    if (fields) return give({ answer: { type: "fields", fields: values(fields, typed) } });
    if (text !== "") return give({ answer: { type: "text", text } });
    if (question.multiple) return give({ answer: { type: "choices", indexes: picked } });
    const [index] = picked;
    return index === undefined ? Promise.resolve() : give({ answer: { type: "choice", index } });
  };
  const mayWrite = !fields && (question.free_text || choices.length === 0);
  return (
    <form
      tabIndex={-1}
      onSubmit={(event) => {
        event.preventDefault();
        void answer();
      }}
    >
      <fieldset disabled={busy || !useContext(RightsContext).send}>
        <legend>
          <code>{tool}</code> asks
        </legend>
        <Prose text={question.prompt} />
        {choices.map((choice, index) => (
          <label key={index} class="choice">
            <input
              type={question.multiple ? "checkbox" : "radio"}
              name="choice"
              checked={picked.includes(index)}
              onChange={(event) => {
                const others = question.multiple ? picked.filter((other) => other !== index) : [];
                setPicked(event.currentTarget.checked ? [...others, index].sort((a, b) => a - b) : others);
              }}
            />
            {choice}
          </label>
        ))}
        {fields && <FormFields fields={fields} typed={typed} set={setTyped} />}
        {mayWrite && (
          <label>
            {choices.length > 0 ? "Or in your own words" : "Answer"}
            <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
          </label>
        )}
        <div class="actions">
          <button class="primary" disabled={!fields && text === "" && picked.length === 0 && !question.multiple}>
            Answer
          </button>
          <button type="button" onClick={() => void give({ answer: { type: "cancelled" } })}>
            Decline
          </button>
        </div>
        {problem && <p class="error" role="alert">{problem}</p>}
      </fieldset>
    </form>
  );
}
