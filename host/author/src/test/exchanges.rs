//! The HTTP exchanges of a case. Only `--record` reaches the network: else a case replays its
//! recording, and a case without one reaches no server.

use super::{case::Case, file::text_of, report::Mismatch};
use crate::AuthorError;
use agent_host_app::config::ConfigError;
use agent_host_sandbox::{Recording, Secrets};
use secrecy::SecretString;
use std::{collections::HashMap, fs, io, path::Path, sync::Arc};

/// The recording between the gate and the network.
pub(super) struct Exchanges {
    /// The recording to replay or make.
    pub(super) recording: Arc<Recording>,
    /// The secrets for requests; placeholders in a replay, which needs none.
    pub(super) secrets: Arc<Secrets>,
    records: bool,
}

impl Exchanges {
    /// Opens the exchanges of a case. With `record` they go to the network if the case names a
    /// recording.
    ///
    /// # Errors
    /// `Ok(Err(_))` if the recording cannot be replayed; `Err` if a granted secret cannot be read.
    pub(super) async fn open(
        case: &Case,
        record: bool,
    ) -> Result<Result<Self, Mismatch>, ConfigError> {
        let granted = case.config.grants.secrets.iter();
        let mut names = granted.map(|grant| grant.name.as_str());
        let records = record && case.recording.is_some();
        let secrets = if records {
            case.config.read_secrets(&names.collect()).await?
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
            Some(_) if records => Recording::record(),
            Some(file) => match read_recording(file) {
                Ok(recording) => recording,
                Err(mismatch) => return Ok(Err(mismatch)),
            },
        };
        Ok(Ok(Self {
            recording: Arc::new(recording),
            secrets: Arc::new(secrets),
            records,
        }))
    }

    /// Saves a new recording, or reports unmatched requests. Returns whether a file was written.
    pub(super) fn close(&self, case: &Case) -> Result<bool, Mismatch> {
        if let (true, Some(file)) = (self.records, &case.recording) {
            return match write(file, &self.recording.text()) {
                Ok(()) => Ok(true),
                Err(error) => Err(Mismatch::new(
                    "recording",
                    format!("{}, written", file.display()),
                    error.to_string(),
                )),
            };
        }
        let unmatched = self.recording.unmatched();
        if unmatched.is_empty() {
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
        Err(Mismatch::new("recording", expected, unmatched.join("\n")))
    }
}

/// Refuses cases that share a recording, since one would overwrite the other's.
pub(super) fn check_distinct(cases: &[Case]) -> Result<(), AuthorError> {
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

fn read_recording(file: &Path) -> Result<Recording, Mismatch> {
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
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::write(file, text)
}
