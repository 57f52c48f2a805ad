//! Arguments of `new`, `build`, `compose`, `test`, `dev` and `wit`.

use super::ConfigArgs;
use agent_host_author::Language;
use clap::{
    Args as ClapArgs,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::path::PathBuf;

/// `new`.
#[derive(Debug, ClapArgs)]
pub(crate) struct NewArgs {
    /// The name of the project: lower-case letters, digits, `_` and `-`.
    pub(crate) name: String,
    /// The language to write the tool in.
    #[arg(long, value_name = "LANGUAGE", value_parser = languages())]
    pub(crate) lang: Language,
    /// The directory in which to create the project's directory.
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
    /// The directory of the project.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Also strip function names from a component in Rust or C; a trap's stack trace uses them.
    #[arg(long)]
    pub(crate) strip_names: bool,
    /// The wasi-sdk whose clang compiles C [default: zig compiles it].
    #[arg(long, value_name = "DIR", env = "WASI_SDK_PATH")]
    pub(crate) wasi_sdk: Option<PathBuf>,
    /// Build a component from a core module that another language's compiler made, instead of a
    /// project.
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with_all = ["dir", "json"])]
    pub(crate) module: Option<PathBuf>,
    /// With `--module`: the output file.
    #[arg(long, value_name = "FILE", requires = "module")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `compose`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ComposeArgs {
    /// The tool: the file of a component.
    #[arg(value_name = "TOOL")]
    pub(crate) tool: PathBuf,
    /// A filter to put in front of it: the file of a component. Repeatable; the first is the
    /// outermost.
    #[arg(long = "with", value_name = "FILTER", required = true)]
    pub(crate) filters: Vec<PathBuf>,
    /// Let the results that a part gives piece by piece go past the filters in front of it.
    #[arg(long)]
    pub(crate) unfiltered_pieces: bool,
    /// The file to write, which must not exist [default: the tool's name with `-filtered.wasm`, in
    /// the current directory].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
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
    /// The component: a file, or `builtin:NAME` [default: the output of `agent-host build`].
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
    /// Only the cases with this text in their name or their tool's name.
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Run nothing; write the calls of a session that depend only on their input to a new file of
    /// test cases in the project. The other calls are listed on stderr, with the reasons.
    #[arg(long, value_name = "SESSION",
          conflicts_with_all = ["cases", "filter", "trust", "record", "update", "strict"])]
    pub(crate) from_session: Option<String>,
    /// With `--from-session`: only the calls of this tool.
    #[arg(long, value_name = "NAME", requires = "from_session")]
    pub(crate) tool: Option<String>,
    /// Trust the project's cases for this run, whatever they ask for; their requests are listed on
    /// stderr.
    #[arg(long)]
    pub(crate) trust: bool,
    /// Use the network, and record the responses, for the cases that name a recording. Without it,
    /// nothing is sent to the network.
    #[arg(long)]
    pub(crate) record: bool,
    /// Write golden files instead of comparing them.
    #[arg(long)]
    pub(crate) update: bool,
    /// Also fail on problems in the tools' definitions.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// The directory where sessions are stored, which no tool can access.
    #[arg(long, value_name = "DIR", env = "AGENT_HOST_STATE_DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

/// `wit`.
#[derive(Debug, ClapArgs)]
pub(crate) struct WitArgs {
    /// Write its files to this directory, instead of printing everything to standard output.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write it in binary form to this new or empty directory: an OCI image layout that other
    /// programs can copy to a registry.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(crate) oci: Option<PathBuf>,
}

/// `dev`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DevArgs {
    /// The directory of the project.
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Serve the tools, in addition to the configured ones, to a client of the Model Context
    /// Protocol over standard input and output. When a build changes them, the client is notified.
    #[arg(long)]
    pub(crate) mcp: bool,
    /// The wasi-sdk whose clang compiles C [default: zig compiles it].
    #[arg(long, value_name = "DIR", env = "WASI_SDK_PATH")]
    pub(crate) wasi_sdk: Option<PathBuf>,
    /// The configuration of what `--mcp` serves. `--trust` trusts the project's cases, too.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}
