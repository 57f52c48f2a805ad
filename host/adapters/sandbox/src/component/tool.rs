//! A loaded component and its handles.

use crate::{
    caps::http::{HttpClient, Recording},
    component::{
        act::{self, TIMEOUT_KEYWORD},
        link::{CONTRACT_VERSION, EntryPoint, LinkedComponent},
        program::ProgramEntry,
        shared::SharedParts,
    },
    engine::Allocator,
    schedule::{
        admission::ToolQueue, blocking::ToolBlocking, guest_runtime::ToolSchedule,
        result_budget::ToolResults,
    },
    text,
};
use agent_host_engine::{
    arguments::Arguments,
    definitions::Definitions,
    schema::{InputSchema, OutputSchema},
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    id::Digest,
    limits::Limits,
    output::ToolResultOutput,
    tool::{SummaryTemplate, ToolDefinition},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, fmt, num::NonZeroUsize, sync::Arc};

/// The bound on a tool's name in an error, in bytes.
const MAX_NAME_BYTES: usize = 120;

/// The interface that lists open directories; a component that does not import it reaches no file.
const PREOPENS: &str = "wasi:filesystem/preopens@";

/// Where the machine code of a component came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiled {
    /// From the cache, with the definitions.
    FromCache,
    /// Compiled by this load.
    Now,
}

/// A loaded component. Cheap to clone; it may outlive its sandbox.
///
/// ```no_run
/// // Not run, because it needs a component: see `guest-tools/README.md` for building one.
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use agent_host_types::{id::CallId, limits::Limits, tool::Effect};
/// use agent_host_sandbox::{Call, CallContext, Sandbox, SandboxConfig};
/// use std::{path::PathBuf, sync::Arc};
///
/// let sandbox = Sandbox::new(SandboxConfig::default())?;
/// let weather = sandbox.load(PathBuf::from("weather.wasm")).await?;
/// for tool in weather.definitions() {
///     println!("{}: {}", tool.name, tool.description);
/// }
/// let input = serde_json::Map::from_iter([("city".to_owned(), "Oslo".into())]);
/// let end = weather
///     .call(Call {
///         tool: "forecast",
///         call_id: &CallId("call-1".to_owned()),
///         input: &input.into(),
///         idempotency_key: "key-1",
///         effect: Effect::ReadOnly,
///         grants: Arc::default(),
///         secrets: Arc::default(),
///         limits: &Limits::default(),
///         context: CallContext::default(),
///         progress: &|update| eprintln!("{update:?}"),
///     })
///     .await;
/// if let Some(report) = end.settled() {
///     println!("{:?}", report.output);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ToolComponent {
    pub(crate) loaded: Arc<Loaded>,
    pub(crate) handle: Arc<HandleState>,
}

/// A component, with the handle that [`crate::Sandbox::load`] returns.
pub(crate) struct Loaded {
    pub(crate) digest: Digest,
    pub(crate) size_bytes: u64,
    pub(crate) definitions: Definitions,
    /// The tools and functions that are left out, with the reasons.
    pub(crate) notes: Vec<String>,
    /// The archive of its skill; empty if it has none.
    pub(crate) skill: Vec<u8>,
    pub(crate) compiled: Compiled,
    pub(crate) linked: LinkedComponent,
    pub(crate) handle: Arc<HandleState>,
    pub(crate) shared: Arc<SharedParts>,
}

/// The state that the calls of one handle share: their queue, their schedule, their blocking
/// threads and their HTTP client.
pub(crate) struct HandleState {
    pub(crate) queue: Arc<ToolQueue>,
    pub(crate) schedule: Arc<ToolSchedule>,
    pub(crate) blocking: Arc<ToolBlocking>,
    pub(crate) results: Arc<ToolResults>,
    pub(crate) client: Arc<HttpClient>,
}

impl HandleState {
    pub(crate) fn new(
        shared: &SharedParts,
        concurrent_calls: Option<usize>,
        recording: Option<Arc<Recording>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue: Arc::new(shared.admission.queue(concurrent_calls)),
            schedule: shared.guests.schedule(),
            blocking: shared.guests.blocking(),
            results: shared.results.tool(),
            client: shared.client.for_tool(recording),
        })
    }
}

impl ToolComponent {
    pub(super) fn new(loaded: Arc<Loaded>) -> Self {
        let handle = Arc::clone(&loaded.handle);
        Self { loaded, handle }
    }

    /// Returns a handle whose calls are counted apart from those of other handles, with `calls`
    /// concurrent ones instead of `concurrent_calls_per_tool` of [`crate::SandboxConfig`].
    #[must_use]
    pub fn with_concurrent_calls(mut self, calls: NonZeroUsize) -> Self {
        self.handle = HandleState::new(&self.loaded.shared, Some(calls.get()), None);
        self
    }

    /// Returns a handle whose calls are counted apart from those of other handles, with a recording
    /// between the gate and the network: requests that the gate allows are recorded, or answered
    /// from the recording.
    #[must_use]
    pub fn with_recording(mut self, recording: Arc<Recording>) -> Self {
        self.handle = HandleState::new(&self.loaded.shared, None, Some(recording));
        self
    }

    /// The digest of the component's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.loaded.digest
    }

    /// The size of the component, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.loaded.size_bytes
    }

    /// The imported interfaces by name; they are the component's permission request. Interfaces of
    /// other packages that have only types are left out.
    #[must_use]
    pub fn imports(&self) -> &[String] {
        &self.loaded.linked.imports
    }

    /// True if the component can reach the granted directories.
    #[must_use]
    pub fn imports_preopens(&self) -> bool {
        let mut imports = self.loaded.linked.imports.iter();
        imports.any(|import| import.starts_with(PREOPENS))
    }

    /// The format of the component, with the versions of WASI that it imports:
    /// `act:tools@0.2.0, WASI 0.2, WASI 0.3`.
    #[must_use]
    pub fn format(&self) -> String {
        let format = match &self.loaded.linked.entry_point {
            EntryPoint::Contract(_) => self.loaded.linked.format.clone(),
            EntryPoint::Hooks => format!("hooks of agent:tool@{CONTRACT_VERSION}"),
            EntryPoint::Plain(_) => "functions".to_owned(),
            EntryPoint::Program(_) => self.program_form().unwrap_or("a program").to_owned(),
            EntryPoint::Act(_) => act::PACKAGE.to_owned(),
        };
        let imports = || self.imports().iter();
        let versions = [("0.2", "WASI 0.2"), ("0.3", "WASI 0.3")];
        let used = versions.into_iter().filter(|(version, _)| {
            let ends = format!("@{version}.");
            imports().any(|import| import.starts_with("wasi:") && import.contains(&ends))
        });
        let used = used.map(|(_, name)| name.to_owned());
        std::iter::once(format)
            .chain(used)
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// How it is spoken to as a program, with the export: standard streams or HTTP requests; `None`
    /// if it is not one.
    #[must_use]
    pub fn program_form(&self) -> Option<&'static str> {
        self.loaded.linked.program.as_ref().map(ProgramEntry::form)
    }

    /// The validated definitions of the component's tools, without [`Self::toolchain_definitions`].
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        self.split_definitions().0
    }

    /// The validated definitions of the functions of a plain component that a toolchain is known to
    /// export for itself. They are no tools unless an operator names them.
    #[must_use]
    pub fn toolchain_definitions(&self) -> &[ToolDefinition] {
        self.split_definitions().1
    }

    fn split_definitions(&self) -> (&[ToolDefinition], &[ToolDefinition]) {
        let all = self.loaded.definitions.all();
        let EntryPoint::Plain(plain) = &self.loaded.linked.entry_point else {
            return (all, &[]);
        };
        // They are the last ones.
        let is_authors = |tool: &ToolDefinition| !plain.is_of_toolchain(&tool.name);
        all.split_at(all.partition_point(is_authors))
    }

    /// Returns whether its definitions say what effect its tools have. Those of a plain component
    /// do not: their `effectful` stands for "unknown".
    #[must_use]
    pub fn declares_effects(&self) -> bool {
        !matches!(self.loaded.linked.entry_point, EntryPoint::Plain(_))
    }

    /// The skill that came in it: a tar of its directory, which is not checked.
    #[must_use]
    pub fn skill(&self) -> Option<&[u8]> {
        let archive = self.loaded.skill.as_slice();
        (!archive.is_empty()).then_some(archive)
    }

    /// The tools that are left out, and the functions of a plain component that are no tools, each
    /// with the reason.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.loaded.notes
    }

    /// Where the machine code came from.
    #[must_use]
    pub fn compiled(&self) -> Compiled {
        self.loaded.compiled
    }

    /// The allocator of the component's instances.
    #[must_use]
    pub fn allocator(&self) -> Allocator {
        self.loaded.linked.allocator.clone()
    }

    /// Returns the schema of the arguments of one of the component's tools.
    #[must_use]
    pub fn input_schema(&self, tool: &str) -> Option<&Arc<InputSchema>> {
        Some(&self.loaded.definitions.schemas(tool)?.input)
    }

    /// Returns the template of the summary of a call of one of its tools, if the tool has one.
    #[must_use]
    pub fn summary(&self, tool: &str) -> Option<&SummaryTemplate> {
        self.loaded.definitions.schemas(tool)?.summary.as_ref()
    }

    /// Returns the limits of a call of one of its tools: those of ACT may ask to be stopped earlier.
    pub(crate) fn limits<'a>(&self, tool: &str, limits: &'a Limits) -> Cow<'a, Limits> {
        if !matches!(self.loaded.linked.entry_point, EntryPoint::Act(_)) {
            return Cow::Borrowed(limits);
        }
        let asked = self.written_schema(tool).and_then(|schema| {
            let timeout = schema.get(TIMEOUT_KEYWORD)?;
            timeout.as_u64()
        });
        match asked {
            Some(asked) if asked < limits.deadline_ms => Cow::Owned(Limits {
                deadline_ms: asked.max(1),
                ..limits.clone()
            }),
            _ => Cow::Borrowed(limits),
        }
    }

    /// Returns the schema of the arguments of a tool, as the component wrote it.
    pub(crate) fn written_schema(&self, tool: &str) -> Option<&Value> {
        let mut definitions = self.definitions().iter();
        let definition = definitions.find(|definition| definition.name == tool)?;
        Some(&definition.input_schema)
    }

    /// Checks what the schema cannot say: that arguments become those of a plain function.
    ///
    /// # Errors
    /// `invalid-input` with the mismatch.
    pub fn check(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match &self.loaded.linked.entry_point {
            EntryPoint::Contract(_)
            | EntryPoint::Act(_)
            | EntryPoint::Hooks
            | EntryPoint::Program(_) => Ok(()),
            EntryPoint::Plain(plain) => plain.bind(tool, input).map(drop),
        }
    }

    /// Checks arguments against the tool's input schema, unless it has accepted them.
    pub(crate) fn check_input(&self, tool: &str, input: &Arguments) -> Result<(), ToolFailure> {
        match self.input_schema(tool) {
            Some(schema) if input.fit(schema) => Ok(()),
            Some(schema) => schema.validate(input),
            None => Err(ToolFailure::new(
                ToolErrorCode::UnknownTool,
                format!(
                    "This component has no tool `{}`.",
                    text::sanitize(tool, MAX_NAME_BYTES)
                ),
            )),
        }
    }

    /// Checks a JSON result against the tool's output schema. The engine has checked the results of
    /// plain functions against their types.
    ///
    /// # Errors
    /// `invalid-output` with the mismatch.
    pub(crate) fn check_output(
        &self,
        tool: &str,
        output: &ToolResultOutput,
    ) -> Result<(), ToolFailure> {
        match (self.output_schema(tool), output) {
            (Some(schema), ToolResultOutput::Json(json)) => schema.validate(&json.to_value()),
            _ => Ok(()),
        }
    }

    /// Returns the schema that [`Self::check_output`] checks against.
    pub(crate) fn output_schema(&self, tool: &str) -> Option<&OutputSchema> {
        if !self.declares_effects() {
            return None;
        }
        self.loaded.definitions.schemas(tool)?.output.as_ref()
    }
}

impl fmt::Debug for ToolComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolComponent")
            .field("digest", &self.loaded.digest)
            .field("compiled", &self.loaded.compiled)
            .field("allocator", &self.loaded.linked.allocator)
            .finish_non_exhaustive()
    }
}
