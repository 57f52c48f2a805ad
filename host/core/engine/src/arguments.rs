//! Arguments of a call on their way to its tool, with the schema that they fit: who gets them checks
//! them again only against another one.

use crate::{schema::InputSchema, tool_set::ToolEntry};
use agent_host_types::failure::ToolFailure;
use serde_json::{Map, Value};
use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

/// The arguments of one run of a call. Made by [`InputSchema::accept`], or of an object that
/// nothing has checked.
///
/// ```
/// use agent_host_engine::{arguments::Arguments, schema::InputSchema};
/// use serde_json::json;
/// use std::sync::Arc;
///
/// let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
/// let schema = Arc::new(InputSchema::compile(&schema)?);
/// let given = json!({"n": 2.0});
/// let arguments = schema.accept(given.as_object().unwrap())?;
/// assert_eq!(arguments["n"], json!(2));
/// assert!(arguments.fit(&schema));
/// assert!(!Arguments::from(arguments.into_object()).fit(&schema));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Arguments {
    object: Arc<Map<String, Value>>,
    fitting: Option<Arc<InputSchema>>,
}

impl Arguments {
    /// Creates arguments that this schema has accepted.
    pub(crate) fn accepted(object: Map<String, Value>, by: &Arc<InputSchema>) -> Self {
        Self {
            object: Arc::new(object),
            fitting: Some(Arc::clone(by)),
        }
    }

    /// Returns whether this very schema has accepted them. Of an equal one it is not known.
    #[must_use]
    pub fn fit(&self, schema: &Arc<InputSchema>) -> bool {
        let fitting = self.fitting.as_ref();
        fitting.is_some_and(|fitting| Arc::ptr_eq(fitting, schema))
    }

    /// Returns the object.
    #[must_use]
    pub fn into_object(self) -> Map<String, Value> {
        Arc::unwrap_or_clone(self.object)
    }
}

impl From<Map<String, Value>> for Arguments {
    fn from(object: Map<String, Value>) -> Self {
        Arc::new(object).into()
    }
}

impl From<Arc<Map<String, Value>>> for Arguments {
    fn from(object: Arc<Map<String, Value>>) -> Self {
        Self {
            object,
            fitting: None,
        }
    }
}

impl Deref for Arguments {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.object
    }
}

/// The last check of a call's arguments, which the steps of a turn share: review, approval and run
/// each ask for it. It holds for the same object and the same tool alone.
#[derive(Clone, Default)]
pub(crate) struct LastCheck(Arc<Mutex<Option<Check>>>);

struct Check {
    object: Arc<Map<String, Value>>,
    tool: Arc<ToolEntry>,
    result: Result<Arguments, ToolFailure>,
}

impl LastCheck {
    /// Checks arguments of a tool, unless they were checked last.
    pub(crate) fn accept(
        &self,
        tool: &Arc<ToolEntry>,
        object: &Arc<Map<String, Value>>,
    ) -> Result<Arguments, ToolFailure> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref()
            && Arc::ptr_eq(&last.object, object)
            && Arc::ptr_eq(&last.tool, tool)
        {
            return last.result.clone();
        }
        let result = tool.accept(object);
        *last = Some(Check {
            object: Arc::clone(object),
            tool: Arc::clone(tool),
            result: result.clone(),
        });
        result
    }
}

/// Two calls are equal whatever was checked of them.
impl PartialEq for LastCheck {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for LastCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LastCheck").finish_non_exhaustive()
    }
}
