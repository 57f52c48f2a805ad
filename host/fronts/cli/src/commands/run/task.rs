//! The work of a run: its prompt, from the arguments and standard input.

use super::attachments;
use crate::{
    args::RunArgs,
    exit::Failure,
    terminal::{Terminal, input_arrives_within, piped_input},
};
use agent_host_types::{output::ContentPart, turn::AgentInput};
use std::time::Duration;

/// The maximum prompt from standard input, in bytes.
pub(super) const MAX_PROMPT_BYTES: u64 = 4 * 1024 * 1024;

/// The prompt that stands for standard input.
const FROM_STDIN: &str = "-";

/// The time after which the user is told that standard input is read.
const SILENCE: Duration = Duration::from_secs(2);

/// The work of a run.
pub(super) enum RunTask {
    /// One input, one answer.
    Once(Box<AgentInput>),
    /// A conversation on the terminal; the files go with its first message.
    Conversation(Vec<ContentPart>),
}

impl RunTask {
    /// Returns the parts of the message.
    pub(super) fn parts(&self) -> &[ContentPart] {
        match self {
            Self::Once(input) => match input.as_ref() {
                AgentInput::Message(message) => &message.content,
                _ => &[],
            },
            Self::Conversation(parts) => parts,
        }
    }
}

/// Returns the work that the arguments and standard input give.
///
/// # Errors
/// They give none, or a file cannot be used.
pub(super) fn task(args: &RunArgs, terminal: &Terminal) -> Result<RunTask, Failure> {
    let files = attachments::read(&args.images, &args.files)?;
    let once = |text, files| Ok(RunTask::Once(Box::new(attachments::input(text, files))));
    match args.prompt.as_deref() {
        Some(FROM_STDIN) if terminal.stdin => {
            return Err(Failure::usage(
                "`-` reads the prompt from standard input, but that is a terminal; leave it out for a conversation: \
                 agent-host run",
            ));
        }
        Some(FROM_STDIN) | None => {}
        Some(prompt) if terminal.stdin => return once(prompt.to_owned(), files),
        Some(prompt) => return once(with_stdin(prompt, args, terminal)?, files),
    }
    if terminal.stdin {
        return Ok(RunTask::Conversation(files));
    }
    let prompt = piped_input(MAX_PROMPT_BYTES, "the prompt")?;
    match (prompt.trim().is_empty(), &args.resume) {
        (false, _) => once(prompt, files),
        (true, Some(_)) if files.is_empty() => Ok(RunTask::Once(Box::new(AgentInput::Continue))),
        (true, _) => Err(Failure::usage(
            "there is no prompt: pass one as an argument, like agent-host run \"What is in this directory?\", or on \
             standard input",
        )),
    }
}

/// Returns the prompt with what is on standard input, if anything is, as a block below it.
fn with_stdin(prompt: &str, args: &RunArgs, terminal: &Terminal) -> Result<String, Failure> {
    if !args.quiet && !input_arrives_within(SILENCE) {
        terminal.note(
            "Reading standard input to its end, to append it to the prompt; to run without it: agent-host run ... < /dev/null",
        );
    }
    let piped = piped_input(MAX_PROMPT_BYTES, "what follows the prompt")?;
    Ok(match piped.trim().is_empty() {
        true => prompt.to_owned(),
        false => format!("{prompt}\n\n{}", attachments::fenced(&piped)),
    })
}
