//! Arguments of `stats`.

use super::ConfigArgs;
use agent_host_app::Since;
use agent_host_types::stats::StatsBy;
use clap::{Args as ClapArgs, ValueEnum};

/// `stats`.
#[derive(Debug, ClapArgs)]
pub(crate) struct StatsArgs {
    /// Count from this day on, in UTC: a date, `YYYY-MM-DD`, or a number of days, today included
    /// [default: everything].
    #[arg(long, value_name = "DATE|DAYS", value_parser = Since::parse)]
    pub(crate) since: Option<Since>,
    /// How to group the usage.
    #[arg(long, value_enum, default_value_t, value_name = "ROWS")]
    pub(crate) by: Rows,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print one JSON document; costs are in millionths of a US dollar.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The subject of the rows.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Rows {
    /// A row for each day, in UTC.
    #[default]
    Day,
    /// A row for each model.
    Model,
    /// A row for each tool, with its calls and their time.
    Tool,
    /// A row for each agent.
    Agent,
}

impl From<Rows> for StatsBy {
    fn from(rows: Rows) -> Self {
        match rows {
            Rows::Day => Self::Day,
            Rows::Model => Self::Model,
            Rows::Tool => Self::Tool,
            Rows::Agent => Self::Agent,
        }
    }
}
