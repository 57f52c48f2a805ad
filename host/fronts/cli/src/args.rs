//! Command line arguments. A doc comment in this module is help text, which users and the manual
//! pages see.

#[cfg(feature = "acp")]
mod acp;
mod author;
mod config_use;
#[cfg(feature = "eval")]
mod eval;
mod mcp;
mod memory;
mod receipts;
mod registry;
mod run;
mod serve;
mod sessions;
mod setup;
mod stats;
mod store;
mod suggestion;
mod workflow;

#[cfg(feature = "acp")]
pub(crate) use acp::AcpArgs;
pub(crate) use author::{BuildArgs, ComposeArgs, DevArgs, NewArgs, TestArgs, WitArgs};
pub(crate) use config_use::ConfigUse;
#[cfg(feature = "eval")]
pub(crate) use eval::EvalArgs;
pub(crate) use mcp::{McpArgs, McpClient, McpCommand};
pub(crate) use memory::{MemoryArgs, MemoryCommand};
pub(crate) use receipts::{ReceiptsArgs, ReceiptsCommand};
pub(crate) use registry::{
    AddArgs, LoginArgs, OutdatedArgs, PullArgs, PushArgs, RemoveArgs, SearchArgs, UpdateArgs,
};
pub(crate) use run::{OutputFormat, PermissionPrompts, RunArgs, RuntimeOfTools};
pub(crate) use serve::{ServeArgs, ServeCommand, TokenCommand};
pub(crate) use sessions::{SessionsArgs, SessionsCommand};
pub(crate) use setup::{ConfigCommand, ConfigCommandArgs, ConfigLayer, InitArgs, ModelsArgs};
pub(crate) use stats::StatsArgs;
pub(crate) use store::{StoreArgs, StoreCommand};
pub(crate) use suggestion::{asks_for_json, suggestion};
pub(crate) use workflow::{GraphFormat, WorkflowArgs, WorkflowCommand};

use agent_host_app::{OnUntrusted, Overrides, config::parse_bytes};
use clap::{Args as ClapArgs, Parser, Subcommand, builder::RangedU64ValueParser};
use clap_complete::Shell;
use std::path::PathBuf;

/// Run LLM agents whose tools are sandboxed WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "agent-host", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Log filter for stderr, such as `debug` or `agent_host_sandbox=trace`.
    #[arg(long, global = true, env = "AGENT_HOST_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// Threads for the program's own tasks, from 1 to 256 [default: one per processor, at least 2;
    /// 1 for `mcp` on standard streams].
    ///
    /// `guest-threads` in `agent.toml` sets the threads for tools.
    #[arg(long, global = true, env = "AGENT_HOST_THREADS", value_name = "N",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    pub(crate) threads: Option<usize>,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 usage error, 3 waiting for the user, 4 budget used up, 5 \
    refused, 6 calls denied for lack of approval, 7 workflow nodes failed but the run continued, 124 timed out, 130 \
    cancelled, 141 stdout closed.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Choose a provider and a model, enter the key, test them, and write your own configuration.
    Init(InitArgs),
    /// Run the agent on a prompt, on standard input, or in a conversation at the terminal.
    Run(Box<RunArgs>),
    /// Call one tool of a component, without a model and without the configured hooks.
    Call(CallArgs),
    /// Serve the tools to clients of the Model Context Protocol: over standard input and output, or
    /// over HTTP.
    Mcp(Box<McpArgs>),
    /// Serve an HTTP API: start agents, watch them, and answer pending requests.
    Serve(Box<ServeArgs>),
    /// Serve an agent to an editor: the Agent Client Protocol over standard input and output.
    #[cfg(feature = "acp")]
    Acp(Box<AcpArgs>),
    /// Create a tool project that builds, in a language of your choice.
    New(NewArgs),
    /// Build a tool's project into a component, and check it as a host would.
    Build(BuildArgs),
    /// Compose a tool with filters that see its definitions, its calls and its results, into one
    /// component.
    Compose(ComposeArgs),
    /// Run a tool's test cases against a component, in the sandbox.
    Test(TestArgs),
    /// Build a tool's project and run its cases, and repeat whenever its files change.
    Dev(DevArgs),
    /// Print the WIT interface that a tool component implements, whatever its language.
    Wit(WitArgs),
    /// Show what a component is: tools, schemas, effects, permissions, size and digest.
    Inspect(InspectArgs),
    /// List sessions, show one with every step, resume it, copy it, or remove it.
    Sessions(SessionsArgs),
    /// Write signed receipts of a session's calls and decisions, or verify some with the public key
    /// alone.
    Receipts(ReceiptsArgs),
    /// Check the store of all sessions, move it, or prepare a database for hosts.
    Store(StoreArgs),
    /// Show the usage of all sessions: tokens, cost and calls, by day, model, tool or agent.
    Stats(StatsArgs),
    /// Show what a session's calls requested, what hooks decided, what was denied, and the smallest
    /// grant for each denial.
    Explain(ExplainArgs),
    /// Run the prompts of a file, compare what the agent does with the expectations, and report the
    /// results.
    #[cfg(feature = "eval")]
    Eval(Box<EvalArgs>),
    /// Restore the files that the last answer of a session changed, and list what cannot be undone.
    Undo(UndoArgs),
    /// List, check or draw the configured workflows.
    Workflow(WorkflowArgs),
    /// Show the configuration with the origin of each value, create one, or print its schema.
    Config(ConfigCommandArgs),
    /// List the models of the configured providers, with context window and price where known.
    Models(ModelsArgs),
    /// List the remembered approvals, or revoke some.
    Approvals(ApprovalsArgs),
    /// List what agents remember beyond a session, and trust or remove it.
    Memory(MemoryArgs),
    /// Show what the configuration of a directory asks for beyond the defaults, and trust it.
    Trust(TrustArgs),
    /// Show what has changed in the configured components since they were accepted in agent.lock,
    /// or accept them as they are.
    Lock(LockArgs),
    /// Search an index of components, in a registry or a directory.
    Search(SearchArgs),
    /// Add a component from a registry or a URL to agent.toml, without grants, and pin it in
    /// agent.lock.
    Add(AddArgs),
    /// Remove a component from agent.toml and agent.lock.
    Remove(RemoveArgs),
    /// Show which components from registries have newer versions.
    Outdated(OutdatedArgs),
    /// Show what changed in the components from registries, and accept the changes.
    Update(UpdateArgs),
    /// Pull a component from a registry or a URL, and show what it is and who signed it.
    Pull(PullArgs),
    /// Push a component to a registry, and sign it.
    Push(PushArgs),
    /// Check the credentials for a registry, and show their source. They come from Docker's
    /// configuration, its helpers or a variable; nothing is stored here.
    Login(LoginArgs),
    /// List the compiled components on disk, or remove some.
    Cache(CacheArgs),
    /// Check this machine and the configuration.
    Doctor(DoctorArgs),
    /// Print the JSON Schema of a document that programs read, or list the documents.
    Schema {
        /// The document, such as `event`.
        document: Option<String>,
    },
    /// Print shell completions, for the shell's start-up file or completions directory.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the reference of all commands, keys and events, as Markdown.
    #[command(hide = true)]
    Reference,
    /// Print the manual page of the program or of a command, for `man -l`.
    Man {
        /// The command, such as `run` or `sessions show` [default: the whole program].
        command: Vec<String>,
    },
}

/// Where the configuration comes from, and what the command line changes of it. A command with
/// subcommands takes these before and after the subcommand.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct ConfigArgs {
    /// The configuration file [default: ./agent.toml, if it exists].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Grant the tools access: `dir:PATH`, `dir:PATH:read-write`,
    /// `http:[METHODS=][SCHEME://]HOST[:PORT][/PATH]`, such as
    /// `http:GET,HEAD=https://api.example.com/v1/`, `env:NAME`, `env:NAME=VALUE`, `secret:NAME`,
    /// `artifacts:read-only`, or `artifacts:read-write`. Repeatable.
    #[arg(long = "grant", global = true, value_name = "GRANT")]
    pub(crate) grants: Vec<String>,
    /// Also grant write access to the current directory.
    #[arg(long, global = true)]
    pub(crate) write: bool,
    /// Trust the agent.toml of this directory for this run, whatever it asks for; its requests are
    /// listed on stderr. A file passed with `--config` needs no trust. Read-only commands ignore an
    /// untrusted file.
    #[arg(long, global = true)]
    pub(crate) trust: bool,
    /// Run only what agent.lock has: a new component, hook, MCP server or skill is refused before it
    /// runs, and agent.lock stays as it is.
    #[arg(long, global = true)]
    pub(crate) locked: bool,
    /// The directory where sessions are stored.
    #[arg(long, global = true, value_name = "DIR", env = "AGENT_HOST_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// The use that the command makes of it, by [`Command::set_config_use`].
    #[arg(skip)]
    pub(crate) config_use: ConfigUse,
}

impl ConfigArgs {
    /// Puts these options into others.
    pub(crate) fn over(self, overrides: Overrides) -> Overrides {
        Overrides {
            grants: self.grants,
            write: self.write,
            on_untrusted: match self.trust {
                true => OnUntrusted::Use,
                false => self.config_use.on_untrusted(),
            },
            locked: self.locked,
            state_dir: self.state_dir,
            ..overrides
        }
    }
}

/// `call`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CallArgs {
    /// The component: a file, `builtin:files`, `builtin:fetch`, `builtin:image`, the name of a
    /// configured tool, or `oci://HOST/NAME@sha256:HEX`.
    pub(crate) component: String,
    /// The tool to call; without it, the tools are listed.
    pub(crate) tool: Option<String>,
    /// The arguments: `KEY=VALUE` for each, typed by the tool's schema; or one JSON object, or `-`
    /// to read one from standard input.
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Deny the call if it matches: `TOOL`, `TOOL(GLOB)` to match the main argument, or
    /// `TOOL(/POINTER=GLOB)` to match another one. Repeatable.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Write the images and files of the result to this directory, or to this file, which must not
    /// exist; a result without files is written to the file itself.
    #[arg(long, short, value_name = "DIR|FILE", requires = "tool")]
    pub(crate) output: Option<PathBuf>,
    /// Print the result as JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `doctor`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `inspect`.
#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// The component, as for `call`.
    pub(crate) component: String,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Also show the descriptions and the schemas of the tools.
    #[arg(long)]
    pub(crate) schemas: bool,
    /// Also show the component's interface in WIT.
    #[arg(long)]
    pub(crate) wit: bool,
    /// Also show all limits.
    #[arg(long)]
    pub(crate) limits: bool,
    /// Print everything as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `explain`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ExplainArgs {
    /// The session: its id, the beginning or end of its id, its name, or `latest`.
    pub(crate) session: String,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `undo`.
#[derive(Debug, ClapArgs)]
pub(crate) struct UndoArgs {
    /// The session: its id, the beginning or end of its id, its name, or `latest`. Undoing again
    /// goes back to the previous answer.
    pub(crate) session: String,
    /// Also restore files that have changed since.
    #[arg(long)]
    pub(crate) force: bool,
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
    /// The action.
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `approvals ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the remembered approvals of sessions and projects.
    List {
        /// Print JSON, one approval per line.
        #[arg(long)]
        json: bool,
    },
    /// Revoke remembered approvals: such calls ask again from then on.
    Revoke {
        /// The approval's id, as `approvals list` prints it, or the beginning of it.
        #[arg(required_unless_present = "all")]
        id: Option<String>,
        /// Revoke all remembered approvals, of every session and project.
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
}

/// `trust`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TrustArgs {
    /// The directory with the agent.toml, or with the project whose cases `agent-host test` runs.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// List what is trusted.
    #[arg(long, conflicts_with_all = ["dir", "revoke", "yes"])]
    pub(crate) list: bool,
    /// Revoke the trust in the directory and everything below it.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,
    /// Trust it without asking, for scripts without a terminal; its requests are listed on stderr.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// `lock`.
#[derive(Debug, ClapArgs)]
pub(crate) struct LockArgs {
    /// Accept the named components as they are now; without a name, all configured ones.
    #[arg(long, value_name = "NAME", num_args = 0..)]
    pub(crate) accept: Option<Vec<String>>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cache`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CacheArgs {
    /// The action.
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `cache ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the compiled components, most recently used first.
    List {
        /// Print JSON, one component per line.
        #[arg(long)]
        json: bool,
    },
    /// Remove what this version cannot use.
    Prune {
        /// Remove everything.
        #[arg(long, conflicts_with = "max_bytes")]
        all: bool,
        /// Also remove the least recently used components, until the rest has at most this size: a
        /// number of bytes, or with a unit, such as `512MiB`.
        #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
        max_bytes: Option<u64>,
    },
}
