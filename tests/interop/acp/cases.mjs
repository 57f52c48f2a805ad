// The facts of the 20 cases that `openclaw/acpx` requires of an agent (conformance profile
// `acp-core-v1` 0.3.0), each by its id without the prefix `acp.v1.`, stated by the official client.
// Its mock agent obeys words in the prompt; here the scripted model makes the calls.

const text = (text) => [{ type: "text", text }];

/** Runs the cases in order, since they share a model, and returns what was seen in each. */
export async function cases({ ctx, methods, seen, cwd, sessionId, choices, untilAsked }) {
  const { session } = methods;
  const { updates, permissions } = seen;
  const facts = {};
  const refusal = (request) => request.then(() => "no error", ({ code, data }) => ({ code, data }));
  /** A prompt's end, its updates, and whether all of them name the session. */
  const prompt = async (id, parts) => {
    updates.splice(0);
    const response = await ctx.request(session.prompt, { sessionId: id, prompt: parts });
    return { stop: response.stopReason, updates: updates.length > 0, own: updates.every((update) => update.of === id) };
  };
  const failures = () => updates.filter(({ status }) => status === "failed").map(({ content }) => content[0].content.text);

  facts["initialize.handshake"] = typeof seen.initialized.protocolVersion;
  facts["session.new.basic"] = sessionId.length > 0;
  facts["session.prompt.single_turn"] = await prompt(sessionId, text("One."));
  facts["session.update.termination"] = await prompt(sessionId, text("Two."));
  facts["session.prompt.multi_turn"] = await prompt(sessionId, text("Three."));
  facts["session.prompt.echo_empty"] = await prompt(sessionId, text("echo"));
  facts["session.prompt.unrecognized"] = await prompt(sessionId, text("?"));
  facts["session.prompt.structured_blocks"] = await prompt(sessionId, [
    { type: "text", text: "Look." },
    { type: "resource_link", uri: "file:///work/link.rs", name: "link.rs" },
    { type: "resource", resource: { uri: "file:///work/inside.rs", text: "fn inside() {}", mimeType: "text/x-rust" } },
  ]);

  // The prompt waits for a permission that no one gives, and is cancelled.
  choices.push("wait");
  const waits = untilAsked();
  const flying = prompt(sessionId, text("Write."));
  await waits;
  await ctx.notify(session.cancel, { sessionId });
  facts["session.cancel.in_flight"] = await flying;
  facts["session.cancel.followup_prompt"] = await prompt(sessionId, text("And now?"));
  await ctx.notify(session.cancel, { sessionId });
  // What comes next shows that the notification was read, had no answer and did no harm.
  facts["session.cancel.idle"] = await prompt(sessionId, text("Still there?"));

  const other = await ctx.request(session.new, { cwd, mcpServers: [] });
  const background = prompt(other.sessionId, text("Work."));
  const listed = await ctx.request(session.list, {});
  facts["session.prompt.background_completion"] = { listed: listed.sessions.length > 0, ...(await background) };

  facts["errors.invalid_params"] = await refusal(ctx.request(session.new, {}));
  facts["errors.invalid_params.cwd_null"] = await refusal(ctx.request(session.new, { cwd: null, mcpServers: [] }));
  facts["errors.invalid_prompt_session_type"] = await refusal(ctx.request(session.prompt, { sessionId: 7, prompt: text("x") }));
  facts["errors.unknown_session"] = await refusal(ctx.request(session.prompt, { sessionId: "unknown", prompt: text("x") }));

  for (const [id, kind] of [
    ["errors.permission_denied", "reject_once"],
    ["errors.permission_denied.write", "reject_once"],
    ["permissions.read.approved", "allow_once"],
    ["permissions.write.approved", "allow_once"],
  ]) {
    permissions.splice(0);
    choices.push(kind);
    const { stop } = await prompt(sessionId, text(id));
    facts[id] = { stop, asked: permissions.map(({ toolCall }) => toolCall.kind), failures: failures() };
  }
  return facts;
}
