//! The command line.

use agent_host_author::Language;
use agent_host_http::{AllowedHost, AllowedOrigin};
use clap::{
    Args as ClapArgs, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::{net::SocketAddr, path::PathBuf};

/// Run LLM agents whose tools are sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "agent-host", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Log filter for stderr, such as `debug` or `agent_host_sandbox=trace`.
    #[arg(long, global = true, env = "AGENT_HOST_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, 4 budget used up, 5 refused, \
                          124 timed out, 130 cancelled, 141 stdout closed.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the agent: on a prompt, on standard input, or in a conversation on the terminal.
    Run(Box<RunArgs>),
    /// Call one tool of a component, without a model.
    Call(CallArgs),
    /// Serve the tools to clients of the Model Context Protocol: over standard input and output, or over HTTP.
    Mcp(Box<McpArgs>),
    /// Begin a tool: write a small project that builds, in a language of your choice.
    New(NewArgs),
    /// Build a tool's project into a component, and check it as a host would.
    Build(BuildArgs),
    /// Run the cases of a tool's author against a component, in the sandbox.
    Test(TestArgs),
    /// Show what a component is: tools, schemas, effects, permissions, size and digest.
    Inspect(InspectArgs),
    /// List sessions, show one with every step, go on with it, copy it, or remove it.
    Sessions(SessionsArgs),
    /// Show what a session's calls asked, what was denied, and the smallest grant for each denial.
    Explain(ExplainArgs),
    /// List the approvals that are remembered, or take some back.
    Approvals(ApprovalsArgs),
    /// Show what the configuration of a directory asks for beyond the defaults, and trust it.
    Trust(TrustArgs),
    /// Show what changed in the configured components since they were accepted in agent.lock, or accept them as they are.
    Lock(LockArgs),
    /// List the compiled components on disk, or remove some.
    Cache(CacheArgs),
    /// Check this machine and the configuration.
    Doctor(DoctorArgs),
    /// Print the completions of a shell, for its start-up file or its folder of completions.
    Completions(CompletionsArgs),
    /// Print the manual page, or that of a command, for `man -l`.
    Man(ManArgs),
}

/// Where the configuration comes from, and what the command line changes of it.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct ConfigArgs {
    /// The configuration [default: ./agent.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Grant something to the tools: `dir:PATH`, `dir:PATH:rw`, `http:[METHODS=][SCHEME://]HOST[:PORT][/PATH]`, such as
    /// `http:GET,HEAD=https://api.example.com/v1/`, `env:NAME`, `env:NAME=VALUE`, or `secret:NAME`. Repeatable.
    #[arg(long = "grant", value_name = "GRANT")]
    pub(crate) grants: Vec<String>,
    /// Grant writing in the current folder, too.
    #[arg(long)]
    pub(crate) write: bool,
    /// Trust the agent.toml of this directory for this run, whatever it asks for; stderr says what
    /// that is. `--config` names a file, and needs no trust.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Where sessions are kept.
    #[arg(long, value_name = "DIR", env = "AGENT_HOST_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer as text.
    #[default]
    Text,
    /// One JSON document at the end.
    Json,
    /// One JSON document a line: every event as it becomes durable, and text as it arrives.
    StreamJson,
}

/// `run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// What to ask. Without it: standard input, or a conversation when that is a terminal.
    pub(crate) prompt: Option<String>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// The model: `anthropic:NAME`, `openai:NAME`, `openai-compat:NAME`, `gemini:NAME`, `ollama:NAME`, `script:tour`, `script:FILE` or
    /// `replay:FILE` [default: what agent.toml says, else a model of the only provider whose key is in the environment, else `script:tour`].
    #[arg(long, value_name = "PROVIDER:NAME")]
    pub(crate) model: Option<String>,
    /// Write down what goes between the model and this program, in a new file; `--model replay:FILE` plays it again. The key is struck
    /// out, the conversation is in it.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// A PNG, JPEG, GIF or WebP file that the model sees with the prompt. Repeatable.
    #[arg(long = "image", value_name = "FILE", conflicts_with_all = ["decide", "submit"])]
    pub(crate) images: Vec<PathBuf>,
    /// A component to use besides the configured ones. Repeatable.
    #[arg(long = "tool", value_name = "FILE")]
    pub(crate) tools: Vec<String>,
    /// How to print the answer.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) output_format: OutputFormat,
    /// Go on with a session: its id, the beginning of its id, or `latest`.
    #[arg(long, value_name = "SESSION")]
    pub(crate) resume: Option<String>,
    /// With `--resume`: decide about a call that waits: `CALL=approve`, `CALL=reject:REASON`, `CALL=edit:JSON` or
    /// `CALL=respond:TEXT`; a question is answered with `respond`, `choice:NUMBER` or `reject`. Repeatable.
    #[arg(long, value_name = "CALL=DECISION", requires = "resume", conflicts_with_all = ["prompt", "submit"])]
    pub(crate) decide: Vec<String>,
    /// With `--resume`: the results of calls that ran outside, as a JSON file.
    #[arg(
        long,
        value_name = "FILE",
        requires = "resume",
        conflicts_with = "prompt"
    )]
    pub(crate) submit: Option<PathBuf>,
    /// End the run with the first successful result of this tool. Repeatable.
    #[arg(long, value_name = "TOOL")]
    pub(crate) until_tool: Vec<String>,
    /// With `--until-tool`: the first call ends the run, whether it succeeded or not.
    #[arg(long, requires = "until_tool")]
    pub(crate) until_any_call: bool,
    /// Have the answer be a JSON value that fits this JSON Schema.
    #[arg(long, value_name = "FILE", conflicts_with = "until_tool")]
    pub(crate) output_schema: Option<PathBuf>,
    /// The most model calls that one prompt may lead to.
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u64>,
    /// The most tokens, read and written, that one prompt may cost.
    #[arg(long, value_name = "N")]
    pub(crate) max_total_tokens: Option<u64>,
    /// The most US dollars that one prompt may cost; agent.toml says what the model costs.
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<f64>,
    /// The most tool calls that one prompt may lead to.
    #[arg(long, value_name = "N")]
    pub(crate) max_tool_calls: Option<u64>,
    /// What happens to calls that a person should confirm: `ask` on a terminal; `none` denies them; `later` ends the run with
    /// exit code 3, and `--resume SESSION --decide` goes on [default: what agent.toml says on a terminal, `later` with `--decide`
    /// and `--submit`, else `none`].
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) permission_prompts: Option<PermissionPrompts>,
    /// Stop after this many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Say nothing on stderr but errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What happens to calls that a person should confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionPrompts {
    /// Ask on the terminal.
    Ask,
    /// Deny.
    None,
    /// Wait: the run ends, and a later one decides.
    Later,
}

/// `call`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CallArgs {
    /// The component: a file, `builtin:files`, `builtin:fetch`, `builtin:image`, or the name of a configured tool.
    pub(crate) component: String,
    /// The tool in it.
    pub(crate) tool: String,
    /// The arguments, as a JSON object; `-` reads them from standard input.
    #[arg(default_value = "{}")]
    pub(crate) input: String,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print the result's JSON form instead of its text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `mcp`.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    /// What about it; without it, serve.
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// What is served.
    #[command(flatten)]
    pub(crate) served: McpServed,
    /// Serve over HTTP at this address, such as `127.0.0.1:8080`; with port 0, at any that is free.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// With `--http`: a file with the token that clients must show, which only its owner may read [default: the variable
    /// AGENT_HOST_MCP_TOKEN, else a new one, which is shown].
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// With `--http`: a name, possibly with a port, that clients may call this server by besides its own address. Repeatable.
    #[arg(long = "allow-host", value_name = "HOST[:PORT]", requires = "http")]
    pub(crate) allowed_hosts: Vec<AllowedHost>,
    /// With `--http`: a page whose scripts may use this server, such as `https://app.example.org`. Repeatable.
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) allowed_origins: Vec<AllowedOrigin>,
    /// Say nothing on stderr but errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What a server of the Model Context Protocol serves.
#[derive(Debug, ClapArgs)]
pub(crate) struct McpServed {
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// A component to serve besides the configured ones: a file, or `builtin:NAME`. Repeatable.
    #[arg(long = "tool", value_name = "FILE")]
    pub(crate) tools: Vec<String>,
}

/// `mcp ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Print the entry that clients take into their configuration to start this server, with absolute paths.
    Config {
        /// What the client calls the server.
        #[arg(long, default_value = "agent-host")]
        name: String,
        /// The entry for a server that was started with `--http`, at this address.
        #[arg(long, value_name = "ADDR")]
        http: Option<SocketAddr>,
        /// What is served.
        #[command(flatten)]
        served: McpServed,
    },
}

/// `new`.
#[derive(Debug, ClapArgs)]
pub(crate) struct NewArgs {
    /// What the project is called: small letters, digits, `_` and `-`.
    pub(crate) name: String,
    /// The language to write the tool in.
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    pub(crate) lang: Language,
    /// The folder to make the project's folder in.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
}

/// The languages by their names, which the help and the completions list.
fn languages() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::as_str))
        .try_map(|name| name.parse::<Language>())
}

/// `build`.
#[derive(Debug, ClapArgs)]
pub(crate) struct BuildArgs {
    /// The folder of the project.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Take the names of functions out of a component in Rust or C, too; the stack of a trap is told in them.
    #[arg(long)]
    pub(crate) strip_names: bool,
    /// The wasi-sdk whose clang compiles C [default: zig compiles it].
    #[arg(long, value_name = "DIR", env = "WASI_SDK_PATH")]
    pub(crate) wasi_sdk: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `test`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TestArgs {
    /// The project, with its cases in `tests/*.toml`.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The component: a file, or `builtin:NAME` [default: what `agent-host build` made of the project].
    #[arg(long, value_name = "FILE", conflicts_with = "build")]
    pub(crate) component: Option<String>,
    /// Build the project first, as `agent-host build` does.
    #[arg(long)]
    pub(crate) build: bool,
    /// With `--build`: the wasi-sdk whose clang compiles C.
    #[arg(long, value_name = "DIR", env = "WASI_SDK_PATH")]
    pub(crate) wasi_sdk: Option<PathBuf>,
    /// A file with cases, instead of the project's. Repeatable.
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Vec<PathBuf>,
    /// Only the cases with this in their name, or in their tool's.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Trust the project's cases for this run, whatever they ask for; stderr says what that is.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Ask the network, and write down what it says, for the cases that name a recording. Without it nothing goes to the network.
    #[arg(long)]
    pub(crate) record: bool,
    /// Write golden files instead of comparing them.
    #[arg(long)]
    pub(crate) update: bool,
    /// Fail also for what is wrong with the tools' definitions.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where sessions are kept, which no tool may reach.
    #[arg(long, value_name = "DIR", env = "AGENT_HOST_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

/// `inspect`.
#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// The component, as for `call`.
    pub(crate) component: String,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `sessions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SessionsArgs {
    /// What about them.
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// `sessions ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions, newest first.
    List {
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show every step of a session, with timings and limits.
    Show {
        /// Its id, the beginning of its id, or `latest`.
        session: String,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Print its events as JSON, one a line.
        #[arg(long)]
        json: bool,
    },
    /// Go on with a session: what `run --resume SESSION` does.
    #[command(
        mut_arg("resume", |session| session.long(None).index(1).required(true)),
        mut_arg("prompt", |prompt| prompt.index(2))
    )]
    Resume(Box<RunArgs>),
    /// Copy a session into a new one, and print the new one's id. What waits or is allowed in the original does not wait and
    /// is not allowed in the copy.
    Fork {
        /// Its id, the beginning of its id, or `latest`.
        session: String,
        /// Take over the events up to this one, at which a turn ended [default: all]. `sessions show` numbers them.
        #[arg(long, value_name = "EVENT")]
        at: Option<u64>,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Write a session as one file that needs nothing else.
    Export {
        /// Its id, the beginning of its id, or `latest`.
        session: String,
        /// The file; it must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Take over a session from a file that `export` wrote, and print its id. Calls that wait in it will not run, and nothing
    /// that was allowed in it is allowed here.
    Import {
        /// The file.
        file: PathBuf,
        /// Give it a new id.
        #[arg(long)]
        as_new: bool,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Remove sessions for good, and print their ids.
    Delete {
        /// Their ids, the beginnings of their ids, or `latest`.
        #[arg(required = true, value_name = "SESSION")]
        sessions: Vec<String>,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Remove the oldest sessions for good, print their ids, and return their room to the disk. Without an option: what `keep`
    /// in agent.toml does not keep. A session that is in use or waits for a decision stays.
    Prune {
        /// Remove the sessions that were not written to for this number of days.
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
        /// Remove the oldest until the database has at most this size.
        #[arg(long, value_name = "BYTES")]
        max_bytes: Option<u64>,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Take a session as it is in the journal, although events that were stored are missing there, because the file was damaged or
    /// replaced by an older one.
    Recover {
        /// Its id.
        session: String,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// List the files that a session's calls left, or write one to standard output.
    Artifacts {
        /// Its id, the beginning of its id, or `latest`.
        session: String,
        /// The file.
        name: Option<String>,
        /// Write it to this file, which must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE", requires = "name")]
        output: Option<PathBuf>,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Print the list as JSON, one file a line.
        #[arg(long, conflicts_with = "name")]
        json: bool,
    },
    /// Write a blob (an image, a long result) to standard output.
    Blob {
        /// Its digest, as `sessions show` prints it.
        digest: String,
        /// The file; it must not exist [default: standard output].
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
    },
}

/// `explain`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// The session: its id, the beginning of its id, or `latest`.
    pub(crate) session: String,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `approvals`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ApprovalsArgs {
    /// What about them.
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
}

/// `approvals ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List what is remembered, for sessions and for projects.
    List {
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Print JSON, one approval a line.
        #[arg(long)]
        json: bool,
    },
    /// Take back what is remembered: from then on, such calls are asked about again.
    Revoke {
        /// Its id, as `approvals list` prints it, or the beginning of its id.
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// All of them, of every session and project.
        #[arg(long, conflicts_with = "id")]
        all: bool,
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
    },
}

/// `trust`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TrustArgs {
    /// The directory with the agent.toml, or with the project whose cases `agent-host test` runs.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// List what is trusted.
    #[arg(long, conflicts_with_all = ["dir", "revoke"])]
    pub(crate) list: bool,
    /// Trust nothing in the directory and below it any more.
    #[arg(long)]
    pub(crate) revoke: bool,
}

/// `lock`.
#[derive(Debug, ClapArgs)]
pub(crate) struct LockArgs {
    /// Accept components as they are now: those that are named, or else every configured one.
    #[arg(long, value_name = "NAME", num_args = 0..)]
    pub(crate) accept: Option<Vec<String>>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `doctor`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `completions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// `man`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// The command, such as `run` or `sessions show`; without it the program.
    pub(crate) command: Vec<String>,
}

/// `cache`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CacheArgs {
    /// What about them.
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

/// `cache ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List what is there, the one that was used last first.
    List {
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Print JSON, one component a line.
        #[arg(long)]
        json: bool,
    },
    /// Remove what this version cannot use.
    Prune {
        /// The configuration.
        #[command(flatten)]
        config: ConfigArgs,
        /// Remove everything.
        #[arg(long, conflicts_with = "max_bytes")]
        all: bool,
        /// Remove those that were not used for longest, too, until the rest has no more bytes.
        #[arg(long, value_name = "N")]
        max_bytes: Option<u64>,
    },
}
