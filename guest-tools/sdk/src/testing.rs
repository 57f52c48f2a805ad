//! A stand-in for the host, for tests outside WebAssembly. It keeps what a tool reported and hands
//! out what a test prepared. Each thread has its own, so tests that run beside each other do not
//! meet. It does not exist in a component.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use crate::tools::{NestedCall, NestedOutput};
use crate::{Answer, Data, FormAnswer, Part, Question};

/// The calls of this thread's tools to the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Progress: the message and the part that is done.
    pub progress: Vec<(String, Option<f64>)>,
    /// The parts of results that were added while calls ran.
    pub partial: Vec<Part>,
    /// The requested changes of the state.
    pub deltas: Vec<Map<String, Value>>,
    /// Questions.
    pub questions: Vec<Question>,
    /// Forms: the prompt and the schema.
    pub forms: Vec<(String, Value)>,
    /// The messages that end the run, in order; the last one counts.
    pub halts: Vec<String>,
}

#[derive(Default)]
struct StandIn {
    recorded: Recorded,
    state: Map<String, Value>,
    answers: VecDeque<Answer>,
    forms: VecDeque<FormAnswer>,
    context: Map<String, Value>,
    /// The artifacts by name: the media type and the bytes. Without a grant there are none.
    artifacts: Option<BTreeMap<String, (String, Vec<u8>)>>,
    /// The names of the tools that can be called, and what runs them.
    tools: Option<(Vec<String>, Box<dyn RunNested>)>,
}

/// Runs the calls of a program.
trait RunNested: Fn(&NestedCall) -> NestedOutput {}

impl<T: Fn(&NestedCall) -> NestedOutput> RunNested for T {}

thread_local! {
    static HOST: RefCell<StandIn> = RefCell::default();
}

/// Starts over: nothing recorded, this state, and these answers, in the order of the questions. A
/// question without an answer is answered `Unavailable`.
pub fn prepare(state: Map<String, Value>, answers: impl IntoIterator<Item = Answer>) {
    let answers = answers.into_iter().collect();
    HOST.set(StandIn {
        recorded: Recorded::default(),
        state,
        answers,
        ..StandIn::default()
    });
}

/// Prepares the answers to forms, in their order. A form without one is answered `Unavailable`.
pub fn prepare_forms(answers: impl IntoIterator<Item = FormAnswer>) {
    HOST.with_borrow_mut(|host| host.forms = answers.into_iter().collect());
}

/// Prepares the context of the session.
pub fn prepare_context(context: Map<String, Value>) {
    HOST.with_borrow_mut(|host| host.context = context);
}

/// Grants artifacts, and prepares them: name, media type and bytes. Without this, every use of them
/// is denied.
pub fn prepare_artifacts<'a>(artifacts: impl IntoIterator<Item = (&'a str, &'a str, &'a [u8])>) {
    let artifacts = artifacts
        .into_iter()
        .map(|(name, media_type, data)| (name.to_owned(), (media_type.to_owned(), data.to_vec())));
    HOST.with_borrow_mut(|host| host.artifacts = Some(artifacts.collect()));
}

/// Prepares tools that can be called. Without this there are none, and every call is denied.
pub fn prepare_tools(names: &[&str], run: impl Fn(&NestedCall) -> NestedOutput + 'static) {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    HOST.with_borrow_mut(|host| host.tools = Some((names, Box::new(run))));
}

/// The calls recorded since [`prepare`], or since the thread began.
#[must_use]
pub fn recorded() -> Recorded {
    HOST.with_borrow(|host| host.recorded.clone())
}

pub(crate) fn record_progress(message: String, fraction: Option<f64>) {
    HOST.with_borrow_mut(|host| host.recorded.progress.push((message, fraction)));
}

/// `agent:tool/partial`: the parts are never full.
pub(crate) mod partial {
    use super::{Data, HOST, Part};

    pub(crate) fn text(more: &str) -> bool {
        add(|parts| match parts.last_mut() {
            Some(Part::Text(text)) => text.push_str(more),
            _ => parts.push(Part::text(more)),
        })
    }

    pub(crate) fn file(media_type: &str, filename: Option<&str>) -> bool {
        let file = Part::bytes(media_type, Vec::new());
        let file = filename.map_or(file.clone(), |name| file.named(name));
        add(|parts| parts.push(file))
    }

    pub(crate) fn bytes(more: &[u8]) -> bool {
        add(|parts| match parts.last_mut() {
            Some(Part::File {
                data: Data::Bytes(bytes),
                ..
            }) => bytes.extend_from_slice(more),
            _ => parts.push(Part::bytes("application/octet-stream", more.to_vec())),
        })
    }

    fn add(change: impl FnOnce(&mut Vec<Part>)) -> bool {
        HOST.with_borrow_mut(|host| change(&mut host.recorded.partial));
        true
    }
}

pub(crate) fn state() -> Map<String, Value> {
    HOST.with_borrow(|host| host.state.clone())
}

pub(crate) fn record_delta(delta: Map<String, Value>) {
    HOST.with_borrow_mut(|host| host.recorded.deltas.push(delta));
}

pub(crate) fn answer(question: &Question) -> Answer {
    HOST.with_borrow_mut(|host| {
        host.recorded.questions.push(question.clone());
        host.answers.pop_front().unwrap_or(Answer::Unavailable)
    })
}

pub(crate) fn fill_form(prompt: &str, schema: &Value) -> FormAnswer {
    HOST.with_borrow_mut(|host| {
        let form = (prompt.to_owned(), schema.clone());
        host.recorded.forms.push(form);
        host.forms.pop_front().unwrap_or(FormAnswer::Unavailable)
    })
}

pub(crate) fn context() -> Map<String, Value> {
    HOST.with_borrow(|host| host.context.clone())
}

pub(crate) fn record_halt(message: String) {
    HOST.with_borrow_mut(|host| host.recorded.halts.push(message));
}

/// The tools of the stand-in.
pub(crate) mod tools {
    use super::HOST;
    use crate::tools::{NestedCall, NestedOutput};

    pub(crate) fn list() -> Vec<String> {
        HOST.with_borrow(|host| {
            let tools = host.tools.as_ref();
            tools.map(|(names, _)| names.clone()).unwrap_or_default()
        })
    }

    pub(crate) fn call_many(calls: Vec<NestedCall>) -> Vec<NestedOutput> {
        HOST.with_borrow(|host| {
            let run = |call: &NestedCall| match &host.tools {
                Some((_, run)) => run(call),
                None => NestedOutput::Denied(None),
            };
            calls.into_iter().map(|call| run(&call)).collect()
        })
    }
}

/// The artifacts of the stand-in. It checks neither names nor media types, and has no quota.
pub(crate) mod artifacts {
    use std::collections::BTreeMap;

    use super::HOST;
    use crate::artifacts::{Artifact, ArtifactError};

    type Artifacts = BTreeMap<String, (String, Vec<u8>)>;

    fn with<T>(
        act: impl FnOnce(&mut Artifacts) -> Result<T, ArtifactError>,
    ) -> Result<T, ArtifactError> {
        HOST.with_borrow_mut(|host| match &mut host.artifacts {
            Some(artifacts) => act(artifacts),
            None => Err(ArtifactError::Denied),
        })
    }

    pub(crate) fn list() -> Result<Vec<Artifact>, ArtifactError> {
        with(|artifacts| {
            let listed = artifacts.iter().map(|(name, (media_type, data))| Artifact {
                name: name.clone(),
                media_type: media_type.clone(),
                size: data.len() as u64,
            });
            Ok(listed.collect())
        })
    }

    pub(crate) fn get(name: &str) -> Result<Vec<u8>, ArtifactError> {
        with(|artifacts| match artifacts.get(name) {
            Some((_, data)) => Ok(data.clone()),
            None => Err(ArtifactError::NotFound),
        })
    }

    pub(crate) fn put(name: &str, media_type: &str, data: &[u8]) -> Result<(), ArtifactError> {
        with(|artifacts| {
            artifacts.insert(name.to_owned(), (media_type.to_owned(), data.to_vec()));
            Ok(())
        })
    }

    pub(crate) fn delete(name: &str) -> Result<(), ArtifactError> {
        with(|artifacts| match artifacts.remove(name) {
            Some(_) => Ok(()),
            None => Err(ArtifactError::NotFound),
        })
    }
}
