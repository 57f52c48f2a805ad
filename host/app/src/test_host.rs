//! Hosts for the tests of this crate.

use crate::{Config, Environment, Host, Overrides};
use agent_host_engine::{observer::Unobserved, session::Session};
use std::path::Path;

/// Opens a host of an `agent.toml` with this text, without a model and the built-in tools.
pub(crate) async fn open(directory: &Path, toml: &str) -> Host {
    let environment = Environment {
        cwd: directory.to_owned(),
        ..Environment::default()
    };
    let overrides = Overrides {
        state_dir: Some("state".into()),
        ..Overrides::default()
    };
    let file = directory.join("agent.toml");
    std::fs::write(&file, toml).unwrap();
    let mut config = Config::load(Some(&file), &overrides, &environment).unwrap();
    config.tools.clear();
    Host::open_tools(config).await.unwrap()
}

/// Records that a file of this name was restored.
pub(crate) async fn record(session: &mut Session, name: &str) {
    let recorded = session.record_restored(vec![name.into()], None, &Unobserved);
    recorded.await.unwrap();
}
