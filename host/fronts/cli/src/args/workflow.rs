//! Arguments of `workflow`.

use super::ConfigArgs;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// `workflow`.
#[derive(Debug, ClapArgs)]
pub(crate) struct WorkflowArgs {
    /// The action.
    #[command(subcommand)]
    pub(crate) command: WorkflowCommand,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// `workflow ...`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// List the configured workflows, in order.
    List {
        /// Print JSON, one workflow per line.
        #[arg(long)]
        json: bool,
    },
    /// Check workflows against the configured agents and tools, and print all faults. Exits with 2
    /// if there are any.
    Check {
        /// The workflow [default: all].
        name: Option<String>,
        /// Print JSON, one workflow per line.
        #[arg(long)]
        json: bool,
    },
    /// Draw a workflow.
    Graph {
        /// The workflow.
        name: String,
        /// The format of the drawing.
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: GraphFormat,
    },
}

/// The notation of a drawing.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Indented text.
    Text,
    /// A Mermaid flowchart.
    Mermaid,
    /// A Graphviz graph.
    Dot,
}
