//! The files that commands write for the user: a commented `agent.toml`, and the user's
//! configuration of one model.

use super::{Config, ConfigError, Environment, Overrides, parse, raw::RawConfig};
use agent_host_models::Preset;
use std::path::Path;
use toml::Value;

/// The `agent.toml` of `config init`: every line is a comment, so that it changes nothing before it
/// is edited.
pub const STARTER: &str = "\
# The configuration of agent-host for this directory. Every key: `agent-host config schema`, and
# the current settings: `agent-host config show`. Remove the `#` before the lines that you need.

# model = \"ollama:llama3.2\"          # instead of the one in your own config.toml
# system = \"You are ...\"             # instead of the default system prompt; \"\" for none
# instructions = [\"AGENTS.md\"]       # files to append to the system prompt
# max-turns = 50                     # model calls per message

# [budgets]                          # per message
# usd = 1.0
# tool-calls = 100

# What the tools can access. Default: this directory, read-only, and no network.
# [[grants.dir]]
# host = \".\"
# mode = \"read-write\"
# [[grants.http]]
# host = \"api.example.com\"
# methods = [\"GET\"]

# Calls that run without approval, that ask, and that never run.
# [[rule]]
# decision = \"allow\"
# tool = \"write_file\"
# arguments = { \"/path\" = \"docs/**\" }

# Without a [[tool]], the built-in ones are used: builtin:files, builtin:fetch, builtin:image.
# To let the model run JavaScript, list builtin:code as well.
# [[tool]]
# name = \"weather\"
# component = \"tools/weather.wasm\"
";

/// The choices of `init`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The service.
    pub preset: Preset,
    /// The address of its server; absent for the service's own.
    pub base_url: Option<String>,
    /// The source of the key: `env:NAME`, `file:PATH` or `cmd:COMMAND`; absent for a server
    /// without.
    pub key: Option<String>,
    /// The model's name there; absent as long as it is not chosen.
    pub model: Option<String>,
}

impl Setup {
    /// Returns the text of the user's configuration.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let name = self.preset.name;
        let mut lines = vec!["# Written by `agent-host init`.".to_owned()];
        if let Some(model) = &self.model {
            lines.push(format!(
                "model = {}",
                Value::from(format!("{name}:{model}"))
            ));
        }
        let is_own = self.preset.is_own();
        if self.base_url.is_some() || self.key.is_some() || !is_own {
            lines.push(String::new());
            lines.push(match is_own {
                true => format!("[{name}]"),
                false => format!("[[provider]]\nname = \"{name}\"\nkind = \"{name}\""),
            });
        }
        for (key, value) in [("base-url", &self.base_url), ("api-key", &self.key)] {
            let value = value.as_deref().map(Value::from);
            lines.extend(value.map(|value| format!("{key} = {value}")));
        }
        format!("{}\n", lines.join("\n"))
    }

    /// Resolves the configuration before it is written to `file`.
    ///
    /// # Errors
    /// A choice cannot be used.
    pub fn config(&self, file: &Path, environment: &Environment) -> Result<Config, ConfigError> {
        let raw: RawConfig = parse(file, &self.to_toml())?;
        Config::resolve(raw, Some(file), &Overrides::default(), environment)
    }
}

#[cfg(test)]
mod tests {
    use super::{STARTER, Setup};
    use crate::config::{Environment, parse, raw::RawConfig};
    use agent_host_models::Preset;
    use pretty_assertions::assert_eq;
    use std::path::Path;

    #[test]
    fn starter_file_says_nothing_until_it_is_edited() {
        let parsed: RawConfig = parse(Path::new("agent.toml"), STARTER).unwrap();
        assert_eq!(parsed, RawConfig::default());
        // What its comments say is a configuration: those with a sentence are no TOML.
        let is_toml = |line: &&str| line.starts_with("# [") || line.contains(" = ");
        let lines = STARTER.lines().filter(is_toml);
        let lines: Vec<&str> = lines.filter_map(|line| line.strip_prefix("# ")).collect();
        let toml = lines.join("\n");
        parse::<RawConfig>(Path::new("agent.toml"), &toml)
            .unwrap_or_else(|error| panic!("{error}\n{toml}"));
    }

    #[test]
    fn setup_is_written_as_a_configuration() {
        let setup = |name: &str, base_url: Option<&str>, key: Option<&str>| Setup {
            preset: Preset::from_name(name).unwrap(),
            base_url: base_url.map(str::to_owned),
            key: key.map(str::to_owned),
            model: Some("m".to_owned()),
        };
        let head = "# Written by `agent-host init`.\n";
        for (setup, expected) in [
            (
                setup("openai", None, Some("env:KEY")),
                "model = \"openai:m\"\n\n[openai]\napi-key = \"env:KEY\"\n",
            ),
            (setup("ollama", None, None), "model = \"ollama:m\"\n"),
            (
                setup("groq", None, Some("cmd:pass show groq")),
                "model = \"groq:m\"\n\n[[provider]]\nname = \"groq\"\nkind = \"groq\"\napi-key = \"cmd:pass show groq\"\n",
            ),
            (
                setup("openai-compat", Some("http://127.0.0.1:8000/v1"), None),
                "model = \"openai-compat:m\"\n\n[openai-compat]\nbase-url = \"http://127.0.0.1:8000/v1\"\n",
            ),
        ] {
            assert_eq!(setup.to_toml(), format!("{head}{expected}"));
            let environment = Environment {
                cwd: "/".into(),
                variables: [("HOME".to_owned(), "/home/ann".to_owned())].into(),
            };
            let file = Path::new("/home/ann/.config/agent-host/config.toml");
            let config = setup.config(file, &environment).unwrap();
            let model = config.models.first.unwrap().to_string();
            assert_eq!(model, format!("{}:m", setup.preset.name));
        }
    }
}
