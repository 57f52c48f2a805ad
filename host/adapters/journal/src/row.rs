//! The stored form of an event: encoding, and decoding with checks.

use crate::{
    error::{Damage, Location, StoreError},
    ownership::Ownership,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventError, EventRecord},
    id::SessionId,
    message::Message,
    model::Provenance,
    output::ContentPart,
    session_status::{PhaseChange, SessionPhase},
    stats::StatsChange,
};
use serde::ser::Error as _;
use std::sync::Arc;

/// The longest title in [`crate::SessionInfo`], in characters.
const MAX_TITLE_CHARS: usize = 80;

/// The size of a page of events in bytes of JSON; its last event may exceed it.
pub(crate) const PAGE_BYTES: usize = 1024 * 1024;

/// The stored form of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventRow {
    pub(crate) seq: i64,
    pub(crate) at_ms: i64,
    pub(crate) v: i64,
    /// The event's `kind`, for queries by hand.
    pub(crate) kind: &'static str,
    /// The event.
    pub(crate) json: String,
    pub(crate) listing: ListingUpdate,
    /// The effect of the event on the phase of its session.
    pub(crate) change: Option<PhaseChange>,
    /// The effect of the event on the figures of its session.
    pub(crate) stats: Option<StatsChange>,
}

/// The part of [`crate::SessionInfo`] that one event sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListingUpdate {
    pub(crate) title: Option<String>,
    pub(crate) directory: Option<String>,
    pub(crate) outcome: Option<&'static str>,
    pub(crate) parent: Option<SessionId>,
    /// Set with the first event, by the process that creates the session.
    pub(crate) ownership: Option<Ownership>,
    pub(crate) model: Option<String>,
    pub(crate) cost_micros: Option<u64>,
}

impl EventRow {
    pub(crate) fn encode(record: &EventRecord) -> Result<Self, StoreError> {
        let unstorable = |source| StoreError::Unstorable {
            session: record.session,
            seq: record.seq,
            source,
        };
        let signed = |number: u64| {
            let too_large = || format!("{number} is too large for the journal");
            i64::try_from(number).map_err(|_| unstorable(serde_json::Error::custom(too_large())))
        };
        let json = serde_json::to_string(&record.event);
        Ok(Self {
            seq: signed(record.seq)?,
            at_ms: signed(record.at_ms)?,
            v: i64::from(record.v),
            kind: record.event.kind(),
            json: json.map_err(unstorable)?,
            listing: ListingUpdate::of(&record.event),
            change: PhaseChange::from_event(&record.event),
            stats: StatsChange::from_event(&record.event),
        })
    }

    /// Names the owner of the session, if this is its first event. None is left for another one.
    pub(crate) fn owned_by(mut self, ownership: &mut Option<Ownership>) -> Self {
        if self.seq == 0 {
            self.listing.ownership = ownership.take();
        }
        self
    }
}

/// Returns the phase of a session after these rows.
pub(crate) fn phase_after(phase: SessionPhase, rows: &[Arc<EventRow>]) -> SessionPhase {
    let changes = rows.iter().filter_map(|row| row.change);
    changes.fold(phase, SessionPhase::after)
}

/// Decodes the rows of a session.
pub(crate) fn decode_rows(
    location: &Location,
    session: SessionId,
    rows: &[Arc<EventRow>],
) -> Result<Vec<EventRecord>, JournalError> {
    let decoded = rows.iter().map(|row| {
        let EventRow { seq, at_ms, v, .. } = **row;
        decode(location, session, [seq, at_ms, v], row.json.as_bytes())
    });
    Ok(decoded.collect::<Result<_, _>>()?)
}

impl ListingUpdate {
    /// Returns what these rows set: the first title, directory and starter, and the last outcome
    /// with its model and cost.
    pub(crate) fn of_rows(rows: &[Arc<EventRow>]) -> Self {
        let mut set = Self::default();
        for EventRow { listing, .. } in rows.iter().map(Arc::as_ref) {
            set.title = set.title.or_else(|| listing.title.clone());
            set.directory = set.directory.or_else(|| listing.directory.clone());
            set.parent = set.parent.or(listing.parent);
            set.ownership = set.ownership.or_else(|| listing.ownership.clone());
            if listing.outcome.is_some() {
                set.outcome = listing.outcome;
                set.model.clone_from(&listing.model);
                set.cost_micros = listing.cost_micros;
            }
        }
        set
    }

    fn of(event: &Event) -> Self {
        match event {
            Event::SessionStarted {
                directory,
                client,
                parent,
                ..
            } => Self {
                directory: directory.clone(),
                parent: parent.as_ref().map(|parent| parent.session),
                // The session of a client has no input, so it is listed by the client's name.
                title: client.as_deref().and_then(one_line),
                ..Self::default()
            },
            Event::InputReceived { message, .. } => Self {
                title: title(message),
                ..Self::default()
            },
            Event::TurnEnded { outcome, .. } => Self {
                outcome: Some(outcome.end.kind()),
                model: Some(model_name(&outcome.summary.provenance)),
                cost_micros: outcome.summary.total_usage.cost_micros,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }
}

/// Formats a provider and a model for a list.
pub(crate) fn model_name(model: &Provenance) -> String {
    format!("{}:{}", model.provider, model.model)
}

/// Decodes `[seq, at_ms, v]` and the JSON of an event, and checks each.
pub(crate) fn decode(
    location: &Location,
    session: SessionId,
    [seq, at_ms, v]: [i64; 3],
    json: &[u8],
) -> Result<EventRecord, StoreError> {
    let range = |field| damaged(location, session, Damage::Range { seq, field });
    let v = u32::try_from(v).map_err(|_| range("version"))?;
    let event = Event::from_stored(v, json).map_err(|source| match source {
        EventError::Newer(_) => StoreError::NewerEvent {
            session,
            seq,
            source,
        },
        EventError::Form(_) => damaged(location, session, Damage::Form { seq, source }),
    })?;
    Ok(EventRecord {
        v: EVENT_VERSION,
        session,
        seq: u64::try_from(seq).map_err(|_| range("number"))?,
        at_ms: u64::try_from(at_ms).map_err(|_| range("time"))?,
        event,
    })
}

/// Makes the error of a damaged session.
pub(crate) fn damaged(location: &Location, session: SessionId, damage: Damage) -> StoreError {
    StoreError::Damaged {
        session,
        location: Arc::clone(location),
        damage,
    }
}

/// Returns the first text of a message as a title.
fn title(message: &Message) -> Option<String> {
    let mut texts = message.content.iter().filter_map(ContentPart::text);
    texts.find_map(one_line)
}

/// Returns a text on one line of at most [`MAX_TITLE_CHARS`] characters, or `None` for an empty
/// one.
fn one_line(text: &str) -> Option<String> {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    if line.is_empty() {
        return None;
    }
    if line.chars().count() <= MAX_TITLE_CHARS {
        return Some(line);
    }
    let short: String = line.chars().take(MAX_TITLE_CHARS - 1).collect();
    Some(format!("{}…", short.trim_end()))
}
