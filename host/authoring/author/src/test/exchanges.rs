//! The HTTP exchanges of a case. Only `--record` reaches the network: else a case replays its
//! recording, and a case without one reaches no server.

use super::{
    case::Case,
    case_error,
    file::{text_of, write},
    report::Mismatch,
};
use crate::AuthorError;
use agent_host_app::config::ConfigError;
use agent_host_sandbox::{Recording, Secrets};
use secrecy::SecretString;
use std::{collections::HashMap, path::Path, sync::Arc};

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
        let names = granted.map(|grant| grant.name.as_str());
        let records = record && case.recording.is_some();
        let secrets = if records {
            case.config.read_secrets(&names.collect()).await?
        } else {
            let stand_in = |name: &str| SecretString::from(format!("stand-in-for-{name}"));
            let values = names.map(|name| (name.to_owned(), stand_in(name)));
            Secrets::new(values.collect()).map_err(|error| {
                case_error!("cannot use the secrets: {error}", "grant fewer of them")
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
            let written = write(file, &self.recording.text());
            return written.map(|()| true).map_err(|error| {
                let expected = format!("{}, written", file.display());
                Mismatch::new("recording", expected, error.to_string())
            });
        }
        let unmatched = self.recording.unmatched();
        if unmatched.is_empty() {
            return Ok(false);
        }
        let expected = match &case.recording {
            Some(file) => format!(
                "only requests with an answer in {}, each as often as it has one; record it again with `--record`",
                file.display()
            ),
            None => {
                "no requests: the case has no `recording`; set it to a file, and run with `--record`"
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
            return Err(AuthorError::Usage(format!(
                "the cases `{}` and `{}` would both be recorded in {}; use a different file for each",
                other.escape_debug(),
                case.name.escape_debug(),
                file.display()
            )));
        }
    }
    Ok(())
}

fn read_recording(file: &Path) -> Result<Recording, Mismatch> {
    let fault = |why: String| {
        let file = file.display();
        let what = format!("{file}, which can be replayed; create it with `--record`");
        Mismatch::new("recording", what, why)
    };
    let text = text_of(file).map_err(|error| fault(error.to_string()))?;
    Recording::replay(&text).map_err(|error| fault(error.to_string()))
}
