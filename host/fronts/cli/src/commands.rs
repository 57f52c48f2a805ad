//! The commands, one file each.

#[cfg(feature = "acp")]
mod acp;
mod add;
mod approvals;
mod build;
mod cache;
mod call;
mod compose;
mod config;
mod dev;
mod doctor;
#[cfg(feature = "eval")]
mod eval;
mod explain;
mod init;
mod inspect;
mod lock;
mod login;
mod manual;
mod mcp;
mod memory;
mod models;
mod new;
mod outdated;
mod permissions;
mod pull;
mod push;
mod receipts;
mod reference;
mod run;
mod schema;
mod search;
mod serve;
mod sessions;
mod show_prompt;
mod stats;
mod store;
mod test;
mod tool_list;
mod trust;
mod undo;
mod update;
mod wit;
mod workflow;

use crate::{
    args::{Command, ConfigArgs, OutputFormat, RunArgs},
    exit::{Exit, Failure},
    self_exec,
    terminal::{Terminal, escape, escape_line},
};
pub(crate) use explain::shell_quoted;

use agent_host_app::{
    Config, Environment, Host, OnUntrusted, Overrides, Registry, config::Untrusted, open_store,
};
use agent_host_journal::{JournalStore, Retention};
use agent_host_types::id::SessionId;
use std::sync::Arc;

pub(crate) async fn dispatch(mut command: Command, terminal: &Terminal) -> Result<Exit, Failure> {
    command.set_config_use();
    match command {
        Command::Init(args) => init::init(args, terminal).await,
        Command::Run(args) => run(*args, terminal).await,
        Command::Config(args) => config::config(args, terminal),
        Command::Models(args) => models::models(args, terminal).await,
        Command::Call(args) => call::call(args, terminal).await,
        Command::Mcp(args) => mcp::mcp(*args, terminal).await,
        Command::Serve(args) => serve::serve(*args, terminal).await,
        #[cfg(feature = "acp")]
        Command::Acp(args) => acp::acp(*args, terminal).await,
        Command::New(args) => new::new(&args, terminal),
        Command::Build(args) => build::build(args, terminal).await,
        Command::Compose(args) => compose::compose(args, terminal).await,
        Command::Test(args) => test::test(args, terminal).await,
        Command::Dev(args) => dev::dev(args, terminal).await,
        Command::Wit(args) => wit::wit(&args, terminal),
        Command::Inspect(args) => inspect::inspect(args, terminal).await,
        Command::Sessions(args) => sessions::sessions(args, terminal).await,
        Command::Receipts(args) => receipts::receipts(args, terminal).await,
        Command::Store(args) => store::store(args, terminal).await,
        Command::Stats(args) => stats::stats(args, terminal).await,
        Command::Explain(args) => explain::explain(args, terminal).await,
        #[cfg(feature = "eval")]
        Command::Eval(args) => eval::eval(*args, terminal).await,
        Command::Undo(args) => undo::undo(args, terminal).await,
        Command::Workflow(args) => workflow::workflow(args, terminal).await,
        Command::Trust(args) => trust::trust(&args, terminal),
        Command::Approvals(args) => approvals::approvals(args, terminal).await,
        Command::Memory(args) => memory::memory(args, terminal).await,
        Command::Lock(args) => lock::lock(args, terminal).await,
        Command::Add(args) => add::add(args, terminal).await,
        Command::Remove(args) => add::remove(&args, terminal),
        Command::Pull(args) => pull::pull(args, terminal).await,
        Command::Push(args) => push::push(args, terminal).await,
        Command::Search(args) => search::search(args, terminal).await,
        Command::Outdated(args) => outdated::outdated(args, terminal).await,
        Command::Update(args) => update::update(args, terminal).await,
        Command::Login(args) => login::login(args, terminal).await,
        Command::Cache(args) => cache::cache(args, terminal),
        Command::Doctor(args) => doctor::doctor(args, terminal).await,
        Command::Schema { document } => schema::schema(document.as_deref(), terminal),
        Command::Completions { shell } => manual::completions(shell, terminal),
        Command::Reference => Ok(reference::reference(terminal)),
        Command::Man { command } => manual::page(&command, terminal),
    }
}

/// Runs the agent. With `--output-format json`, each failure has its document on stdout, too.
async fn run(args: RunArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let is_json = args.output_format == OutputFormat::Json;
    let ran = match args.show_prompt {
        true => show_prompt::show_prompt(args, terminal).await,
        false => run_and_offer_init(args, terminal).await,
    };
    ran.map_err(|failure| match is_json {
        true => failure.document(terminal),
        false => failure,
    })
}

/// Runs the agent. At the first start, without a model, it offers to set one up: a conversation and
/// a user with a key before anything runs, others after the tour that plays in place of an answer.
async fn run_and_offer_init(args: RunArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let (first, has_prompt) = (
        init::FirstStart::of_run(&args, terminal)?,
        args.prompt.is_some(),
    );
    let before = match (first, has_prompt) {
        (Some(init::FirstStart::WithoutChoice), _) => {
            Some("A key is set, but no model is chosen. Choose one now?\n[y] yes  [n] no")
        }
        (Some(init::FirstStart::WithoutModel), false) => Some(
            "No model is configured. Set one up now?\n[y] yes  [n] no: play a scripted tour without a model",
        ),
        _ => None,
    };
    if let Some(question) = before {
        init::offer(question, terminal).await;
    }
    let exit = run::run(args, terminal).await?;
    if first.is_some() && before.is_none() && exit == Exit::Done {
        let question = "\nSet up a language model now, in place of this script?\n[y] yes  [n] no";
        init::offer(question, terminal).await;
    }
    Ok(exit)
}

/// Loads the configuration with the overrides of the arguments. A discovered one that asks for more
/// than an untrusted one gets is put to the user, if there is a terminal; a command that only looks
/// leaves it out, and one line on stderr says so.
fn configure(args: ConfigArgs, overrides: Overrides) -> Result<Config, Failure> {
    let (file, trusts) = (args.config.clone(), args.trust);
    let overrides = args.over(overrides);
    let environment = Environment::from_process()?;
    let terminal = Terminal::from_process();
    if file.is_none()
        && overrides.on_untrusted != OnUntrusted::LeaveOut
        && let Some(untrusted) = Untrusted::found(&environment)?
    {
        // `Config::load` decides, by the file as it is then.
        trust::resolve_trust(&untrusted, trusts, &environment, &terminal)?;
    }
    let mut config = Config::load(file.as_deref(), &overrides, &environment)?;
    if let Some(left_out) = &config.left_out {
        trust::warn_left_out(left_out, &terminal);
    }
    config.sandbox.compiler = Some(self_exec::compiler());
    config.supervisor = Some(self_exec::supervisor());
    if terminal.stderr {
        config.tell = Some(|line| Terminal::from_process().note(&escape_line(line)));
    }
    Ok(config)
}

/// Opens the journal, without pruning in the background.
async fn open_journal(config: &Config) -> Result<Arc<dyn JournalStore>, Failure> {
    Ok(open_store(config, Retention::default()).await?)
}

/// Returns the session of a name, an id or a part of it; `latest` is that of the working directory.
async fn find_session(
    store: &dyn JournalStore,
    config: &Config,
    name: &str,
) -> Result<SessionId, Failure> {
    let directory = config.working_dir.display().to_string();
    Ok(store.find_in(&directory, name).await?)
}

/// Sends the traces that are left, and warns if some were not sent.
async fn flush_telemetry(host: &Host, terminal: &Terminal) {
    if let Some(lost) = host.flush_telemetry().await {
        terminal.warn(&escape(&lost));
    }
}

/// Lists the names of all tools, separated by commas.
fn tool_names(registry: &Registry) -> String {
    let tools = registry.tools();
    let names: Vec<&str> = tools.map(|tool| tool.definition.name.as_str()).collect();
    names.join(", ")
}
