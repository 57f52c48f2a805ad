//! The HTTP exchanges of a case. A test never asks the network, unless it is told to record: a case plays its recording, and a case
//! without one has no server to reach.

use super::{case::Case, file::text_of, report::Mismatch};
use crate::AuthorError;
use agent_host_app::config::ConfigError;
use agent_host_sandbox::{Recording, Secrets};
use secrecy::SecretString;
use std::{collections::HashMap, fs, io, path::Path, sync::Arc};

/// What stands between the gate and the network while a case runs.
pub(super) struct Exchanges {
    /// What is played or made.
    pub(super) recording: Arc<Recording>,
    /// The secrets for the requests. What is played needs none, so it has stand-ins.
    pub(super) secrets: Arc<Secrets>,
    is_recorded: bool,
}

impl Exchanges {
    /// Opens the exchanges of a case. `record` asks the network, if the case has a file for what it says.
    ///
    /// # Errors
    /// The recording cannot be played, which is in the difference; or a secret that the case is granted cannot be read.
    pub(super) async fn open(
        case: &Case,
        record: bool,
    ) -> Result<Result<Self, Mismatch>, ConfigError> {
        let granted = case.reach.grants.secrets.iter();
        let mut names = granted.map(|grant| grant.name.as_str());
        let is_recorded = record && case.recording.is_some();
        let secrets = if is_recorded {
            case.reach.read_secrets(&names.collect()).await?
        } else {
            let stand_in = |name: &str| SecretString::from(format!("stand-in-for-{name}"));
            let values = names
                .by_ref()
                .map(|name| (name.to_owned(), stand_in(name)))
                .collect();
            Secrets::new(values).map_err(|error| {
                let reason = format!("the secrets cannot be used: {error}");
                ConfigError::new("", reason, "grant fewer of them")
            })?
        };
        let recording = match &case.recording {
            None => Recording::empty(),
            Some(_) if is_recorded => Recording::record(),
            Some(file) => match played(file) {
                Ok(recording) => recording,
                Err(mismatch) => return Ok(Err(mismatch)),
            },
        };
        Ok(Ok(Self {
            recording: Arc::new(recording),
            secrets: Arc::new(secrets),
            is_recorded,
        }))
    }

    /// Ends the exchanges: writes down what was recorded, and tells which requests had no answer. Gives whether a file was written.
    pub(super) fn close(&self, case: &Case) -> Result<bool, Mismatch> {
        if let (true, Some(file)) = (self.is_recorded, &case.recording) {
            return match write(file, &self.recording.text()) {
                Ok(()) => Ok(true),
                Err(error) => Err(Mismatch::new(
                    "recording",
                    format!("{}, written", file.display()),
                    error.to_string(),
                )),
            };
        }
        let strays = self.recording.unmatched();
        if strays.is_empty() {
            return Ok(false);
        }
        let expected = match &case.recording {
            Some(file) => format!(
                "only requests that {} has an answer to, each as often as it has; `--record` makes it anew",
                file.display()
            ),
            None => {
                "no request: the case has no `recording`; name a file for one, and run `--record`"
                    .to_owned()
            }
        };
        Err(Mismatch::new("recording", expected, strays.join("\n")))
    }
}

/// Refuses cases of which one would write its recording over the other's.
pub(super) fn check_apart(cases: &[Case]) -> Result<(), AuthorError> {
    let mut files = HashMap::new();
    for case in cases {
        let Some(file) = &case.recording else {
            continue;
        };
        if let Some(other) = files.insert(file, &case.name) {
            return Err(AuthorError::usage(format!(
                "the cases `{}` and `{}` would both be recorded in {}; give each a file of its own",
                other.escape_debug(),
                case.name.escape_debug(),
                file.display()
            )));
        }
    }
    Ok(())
}

fn played(file: &Path) -> Result<Recording, Mismatch> {
    let text = text_of(file);
    let recording =
        text.and_then(|text| Recording::replay(&text).map_err(|error| error.to_string()));
    recording.map_err(|why| {
        let what = format!(
            "{}, which can be played; `--record` makes it",
            file.display()
        );
        Mismatch::new("recording", what, why)
    })
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, text)
}
