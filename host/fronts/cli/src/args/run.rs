//! Arguments of `run`, which `sessions resume` shares.

use super::ConfigArgs;
use crate::commands::shell_quoted;
use agent_host_app::{Effort, config::parse_seconds};
use agent_host_types::reason::Reason;
use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer as text.
    #[default]
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON document per line: every event as it becomes durable, and text as it arrives.
    StreamJson,
}

/// Where tools run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeOfTools {
    /// In this process, or on their MCP server.
    Host,
    /// In the program that called this one.
    External,
}

/// `run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// The prompt; `-` for standard input. Without it: standard input, or a conversation when that
    /// is a terminal. With it, standard input is appended as a block.
    pub(crate) prompt: Option<String>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The model: `anthropic:NAME`, `openai:NAME`, `openai-compat:NAME`, `gemini:NAME`,
    /// `ollama:NAME`, `script:tour`, `script:FILE` or `replay:FILE` [default: what agent.toml says,
    /// else a model of the only provider whose key is in the environment, else `script:tour`].
    #[arg(long, value_name = "PROVIDER:NAME")]
    pub(crate) model: Option<String>,
    /// How much the model reasons: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`;
    /// overrides agent.toml.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) effort: Option<Effort>,
    /// The system prompt, overriding agent.toml and the default one; empty for none.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["agent", "workflow", "resume"])]
    pub(crate) system: Option<String>,
    /// Print the system prompt and the tools that the model would get, without running anything.
    #[arg(long, conflicts_with_all = ["workflow", "resume", "idempotency_key"])]
    pub(crate) show_prompt: bool,
    /// Record the traffic with the model in a new file; `--model replay:FILE` replays it. The file
    /// contains the conversation, but not the key.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// A PNG, JPEG, GIF or WebP file to send to the model with the prompt. Repeatable.
    #[arg(long = "image", value_name = "FILE", conflicts_with_all = ["decide", "submit"])]
    pub(crate) images: Vec<PathBuf>,
    /// A PDF, an image, a WAV or MP3 recording or UTF-8 text to send to the model with the prompt;
    /// PDFs and recordings need a model that accepts them. Repeatable.
    #[arg(long = "file", value_name = "FILE", conflicts_with_all = ["decide", "submit"])]
    pub(crate) files: Vec<PathBuf>,
    /// A component to use in addition to the configured ones. Repeatable.
    #[arg(long = "tool", value_name = "FILE")]
    pub(crate) tools: Vec<String>,
    /// How to print the answer.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output_format: OutputFormat,
    /// Print one value of what `--output-format json` prints, such as `/outcome/output/verdict`
    /// (RFC 6901); a string without quotes. Exit code 1 if it does not exist.
    #[arg(long, value_name = "POINTER", value_parser = json_pointer, conflicts_with = "output_format")]
    pub(crate) json_path: Option<String>,
    /// Print the answer as the model writes it. Without it, a terminal shows rendered Markdown, and
    /// images of results if it draws pictures, unless `NO_COLOR` is set or `TERM` is `dumb`.
    #[arg(long)]
    pub(crate) plain: bool,
    /// Run this agent of agent.toml instead of the default agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Run this workflow of agent.toml; the prompt is its message.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["agent", "until_tool", "output_schema"])]
    pub(crate) workflow: Option<String>,
    /// With `--resume`: continue a workflow whose definition has changed since its run started.
    #[arg(long, requires = "resume")]
    pub(crate) accept_changed: bool,
    /// Run the prompt once under this key: a second run of it in the same project prints how the
    /// first one ended, or continues it where it was interrupted.
    #[arg(long, value_name = "KEY", conflicts_with = "resume")]
    pub(crate) idempotency_key: Option<String>,
    /// A custom context that tools can read, such as `{"user": "ada"}`: a JSON object of at most
    /// 16 KiB, or `@FILE` with one. The model never sees it.
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) context_json: Option<String>,
    /// Resume a session, given by its id, the beginning or end of its id, its name, or `latest` for
    /// the most recently used one of this directory.
    #[arg(long, value_name = "SESSION")]
    pub(crate) resume: Option<String>,
    /// Resume the most recently used session of this directory, like `--resume latest`.
    #[arg(long = "continue", short = 'c', conflicts_with_all = ["resume", "idempotency_key"])]
    pub(crate) continues: bool,
    /// Name the session. Names are unique among the sessions of a directory.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// With `--resume`: decide on a pending call: `CALL=approve`, `CALL=reject:REASON`,
    /// `CALL=edit:JSON` or `CALL=respond:TEXT`; a question is answered with `respond`,
    /// `choice:NUMBER`, `fields:JSON` (a form) or `reject`. Repeatable.
    #[arg(long, value_name = "CALL=DECISION", requires = "resume", conflicts_with_all = ["prompt", "submit"])]
    pub(crate) decide: Vec<String>,
    /// With `--resume`: the results of calls that ran externally, as a JSON file.
    #[arg(
        long,
        value_name = "FILE",
        requires = "resume",
        conflicts_with = "prompt"
    )]
    pub(crate) submit: Option<PathBuf>,
    /// Where the tools of components and MCP servers run: with `external`, the run ends at calls
    /// that the policy and the user allow, and `--submit` passes their results [default: `host`, or
    /// that of the resumed session].
    #[arg(long, value_enum, value_name = "WHERE", conflicts_with = "workflow")]
    pub(crate) tool_runtime: Option<RuntimeOfTools>,
    /// End the run with the first successful result of this tool. Repeatable.
    #[arg(long, value_name = "TOOL")]
    pub(crate) until_tool: Vec<String>,
    /// With `--until-tool`: the first call ends the run, whether it succeeded or not.
    #[arg(long, requires = "until_tool")]
    pub(crate) until_any_call: bool,
    /// Require the answer to be a JSON value that matches this JSON Schema.
    #[arg(long, value_name = "FILE", conflicts_with = "until_tool")]
    pub(crate) output_schema: Option<PathBuf>,
    /// The maximum number of model calls for one prompt.
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u64>,
    /// The maximum number of input and output tokens for one prompt.
    #[arg(long, value_name = "N")]
    pub(crate) max_total_tokens: Option<u64>,
    /// The maximum cost of one prompt in US dollars; the model's price is set in agent.toml.
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// The maximum number of tool calls for one prompt.
    #[arg(long, value_name = "N")]
    pub(crate) max_tool_calls: Option<u64>,
    /// How to handle calls that need approval: `ask` at the terminal; `none` denies them; `later`
    /// ends the run with exit code 3, to resume with `--resume SESSION --decide` [default: what
    /// agent.toml says on a terminal, `later` with `--decide` and `--submit`, else `none`].
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) permission_prompts: Option<PermissionPrompts>,
    /// Calls that run without approval, or not at all.
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// End with exit code 6 if any call of the run or of its agents was denied, whatever denied it.
    #[arg(long)]
    pub(crate) fail_on_denial: bool,
    /// Store the model's reply and each result before continuing, so that a crash loses no paid
    /// reply; same as `durability = "strict"` in agent.toml.
    #[arg(long)]
    pub(crate) durable: bool,
    /// Stop after this time: a number of seconds, or with a unit, such as `10min`.
    #[arg(long, value_name = "DURATION", value_parser = parse_seconds)]
    pub(crate) timeout: Option<u64>,
    /// Show the model's full reasoning instead of only its beginning and length.
    #[arg(long, short, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Print only errors on stderr.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl RunArgs {
    /// Whether the caller runs the tools.
    pub(crate) fn runs_tools_outside(&self) -> bool {
        self.tool_runtime == Some(RuntimeOfTools::External)
    }

    /// Returns the flags that bound a run and are not recorded, quoted for a shell.
    pub(crate) fn bounds(&self) -> Vec<String> {
        let mut flags: Vec<String> = Vec::new();
        let mut add = |flag: &str, value: Option<String>| {
            flags.extend(value.map(|value| format!("{flag} {}", shell_quoted(&value))));
        };
        for tool in &self.until_tool {
            add("--until-tool", Some(tool.clone()));
        }
        let schema = self.output_schema.as_ref();
        add(
            "--output-schema",
            schema.map(|file| file.display().to_string()),
        );
        add("--max-turns", self.max_turns.map(|max| max.to_string()));
        let tokens = self.max_total_tokens;
        add("--max-total-tokens", tokens.map(|max| max.to_string()));
        add("--max-usd", self.max_usd.map(|max| max.to_string()));
        let calls = self.max_tool_calls;
        add("--max-tool-calls", calls.map(|max| max.to_string()));
        flags.extend(self.until_any_call.then(|| "--until-any-call".to_owned()));
        flags.extend(self.durable.then(|| "--durable".to_owned()));
        flags.extend(self.fail_on_denial.then(|| "--fail-on-denial".to_owned()));
        flags.extend(self.config.locked.then(|| "--locked".to_owned()));
        flags
    }
}

/// Parses a JSON pointer.
fn json_pointer(text: &str) -> Result<String, Reason> {
    let is_escape = |rest: &str| rest.starts_with(['0', '1']);
    match text.is_empty() || text.starts_with('/') {
        true if text.split('~').skip(1).all(is_escape) => Ok(text.to_owned()),
        true => Err("in a JSON pointer, `~` is written `~0`, and a `/` in a key `~1`".into()),
        false => Err("a JSON pointer begins with `/`, such as /outcome/text".into()),
    }
}

/// Rules about calls, for this run. They are above those of every configuration.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct RuleArgs {
    /// Run matching calls without asking: `TOOL`, `TOOL(GLOB)` to match the main argument, such as
    /// `write_file(src/**)`, or `TOOL(/POINTER=GLOB)` to match another one. It approves calls that
    /// need approval, but does not extend any grant, and a denial takes precedence. Repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Run the calls of a tool without asking, whatever their arguments. Repeatable.
    #[arg(long, value_name = "TOOL", value_parser = name_of_tool)]
    pub(crate) allow_tool: Vec<String>,
    /// Deny matching calls, with the syntax of `--allow`; no approval or other rule can override
    /// it. Repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
}

impl RuleArgs {
    /// Returns the rules of the calls that run without approval.
    pub(crate) fn allowed(&self) -> Vec<String> {
        self.allow.iter().chain(&self.allow_tool).cloned().collect()
    }
}

/// Parses the name of a tool, or a glob of names.
fn name_of_tool(text: &str) -> Result<String, Reason> {
    match text.contains(['(', ')']) {
        false => Ok(text.to_owned()),
        true => Err("a tool name has no parentheses; use --allow to match arguments".into()),
    }
}

/// How calls that need approval are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionPrompts {
    /// Ask on the terminal.
    Ask,
    /// Deny.
    None,
    /// End the run; a later one passes the decisions.
    Later,
}
