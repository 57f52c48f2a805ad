//! The crate as an author uses it: attributes, natively called functions, and the stand-in for the host.

use agent_tool::artifacts::{self, Artifact, ArtifactError};
use agent_tool::testing::{self, Recorded};
use agent_tool::{
    Answer, Call, Effect, FormAnswer, Json, Output, Question, ask, ask_form, context, control,
    input, output, progress, state, tool,
};
use pretty_assertions::assert_eq;
use serde_json::json;

#[input]
#[derive(Clone, Debug)]
struct Order {
    /// The item to order.
    item: String,
    /// How many.
    #[serde(default = "one")]
    count: u32,
}

fn one() -> u32 {
    1
}

#[output]
struct Receipt {
    item: String,
    key: String,
}

/// Orders something from the shop.
///
/// It asks the user first,
/// and remembers the order.
#[tool(effect = "idempotent", title = "Order", output = Receipt)]
fn order(input: Order, call: &Call) -> Result<Output, String> {
    if input.count == 0 {
        return Err("nothing to order; give a count of at least 1".to_owned());
    }
    match ask(&Question::choice(
        format!("Order {}?", input.item),
        ["Yes", "No"],
    )) {
        Answer::Choice(0) => {}
        Answer::Choice(_) | Answer::Choices(_) | Answer::Text(_) | Answer::Cancelled => {
            return Ok(Output::denied("the user said no"));
        }
        Answer::Unavailable => return Err("no user can be asked".to_owned()),
    }
    progress::report_fraction("ordering", 0.5);
    let before = state::get()
        .get("orders")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(0);
    state::merge([("orders", before + 1)]);
    Ok(Output::json(&Receipt {
        item: input.item,
        key: call.idempotency_key.clone(),
    }))
}

/// Says hello.
#[tool(effect = "read-only")]
fn hello() -> &'static str {
    "hello"
}

/// Tells the id of its call.
#[tool(effect = "read-only")]
fn id(call: &Call) -> String {
    call.id.clone()
}

mod elsewhere {
    /// Doubles a number.
    #[agent_tool::tool(effect = "effectful")]
    pub(crate) fn double(input: Number) -> agent_tool::Json<i64> {
        agent_tool::Json(input.number * 2)
    }

    #[agent_tool::input]
    #[derive(Clone, Copy)]
    pub(crate) struct Number {
        pub(crate) number: i64,
    }
}

agent_tool::export!(order, hello, id, elsewhere::double);

fn tool_of<T: agent_tool::__private::Described>() -> agent_tool::Tool {
    T::TOOL
}

fn call(name: &str) -> Call {
    Call {
        id: "c1".to_owned(),
        name: name.to_owned(),
        idempotency_key: "k1".to_owned(),
    }
}

#[test]
fn function_is_described_by_its_docs_and_types() {
    let tool = tool_of::<order>();
    assert_eq!(
        (
            tool.name,
            tool.title,
            tool.description().as_str(),
            tool.effect
        ),
        (
            "order",
            Some("Order"),
            "Orders something from the shop.\n\nIt asks the user first, and remembers the order.",
            Effect::Idempotent
        )
    );
    assert_eq!(
        (tool.input_schema)(),
        json!({
            "type": "object",
            "properties": {
                "item": {"type": "string", "description": "The item to order."},
                "count": {"type": "integer", "minimum": 0, "default": 1, "description": "How many."},
            },
            "required": ["item"],
            "additionalProperties": false,
        })
    );
    assert_eq!(
        tool.output_schema.map(|schema| schema()),
        Some(
            json!({"type": "object", "properties": {"item": {"type": "string"}, "key": {"type": "string"}}, "required": ["item", "key"]})
        )
    );
    assert_eq!(
        (tool_of::<hello>().title, tool_of::<hello>().effect),
        (None, Effect::ReadOnly)
    );
    assert_eq!(tool_of::<elsewhere::double>().effect, Effect::Effectful);
}

#[test]
fn function_stays_callable() {
    assert_eq!(hello(), "hello");
    assert_eq!(elsewhere::double(elsewhere::Number { number: 4 }), Json(8));
}

#[test]
fn calls_go_through_json() {
    let cases = [
        (tool_of::<hello>(), "{}", Output::text("hello")),
        (tool_of::<id>(), "{}", Output::text("c1")),
        (
            tool_of::<elsewhere::double>(),
            r#"{"number":21}"#,
            Output::Json(json!(42)),
        ),
        (
            tool_of::<order>(),
            r#"{"item":"tea","count":0}"#,
            Output::error("nothing to order; give a count of at least 1"),
        ),
        (
            tool_of::<hello>(),
            r#"{"a":1}"#,
            Output::error(
                "the input of `hello` does not fit: unknown field `a`, there are no fields at line 1 column 4; correct it and call again",
            ),
        ),
    ];
    for (tool, input, expected) in cases {
        assert_eq!((tool.run)(&call(tool.name), input), expected, "{input}");
    }
}

#[test]
fn host_stand_in_answers_and_records() {
    let question = Question {
        prompt: "Order tea?".to_owned(),
        choices: vec!["Yes".to_owned(), "No".to_owned()],
        free_text: false,
        multiple: false,
    };
    let state = json!({"orders": 2})
        .as_object()
        .cloned()
        .expect("an object");
    let tea = Order {
        item: "tea".to_owned(),
        count: 1,
    };
    let asked = |progress: Vec<(String, Option<f64>)>, deltas| Recorded {
        progress,
        deltas,
        questions: vec![question.clone()],
        ..Recorded::default()
    };

    testing::prepare(state, [Answer::Choice(0)]);
    assert_eq!(
        order(tea.clone(), &call("order")),
        Ok(Output::Json(json!({"item": "tea", "key": "k1"})))
    );
    let delta = json!({"orders": 3})
        .as_object()
        .cloned()
        .expect("an object");
    assert_eq!(
        testing::recorded(),
        asked(vec![("ordering".to_owned(), Some(0.5))], vec![delta])
    );

    testing::prepare(serde_json::Map::new(), [Answer::Choice(1)]);
    assert_eq!(
        order(tea.clone(), &call("order")),
        Ok(Output::denied("the user said no"))
    );
    assert_eq!(testing::recorded(), asked(Vec::new(), Vec::new()));

    testing::prepare(serde_json::Map::new(), []);
    assert_eq!(
        order(tea, &call("order")),
        Err("no user can be asked".to_owned())
    );
}

#[test]
fn host_stand_in_has_a_session() {
    let context = json!({"user": "ada"})
        .as_object()
        .cloned()
        .expect("an object");
    testing::prepare(serde_json::Map::new(), [Answer::Choices(vec![0, 2])]);
    assert_eq!(artifacts::list(), Err(ArtifactError::Denied));
    testing::prepare_context(context.clone());
    testing::prepare_artifacts([("a.txt", "text/plain", &b"one"[..])]);
    testing::prepare_forms([FormAnswer::Fields(context.clone())]);

    assert_eq!(context::get(), context);
    let which = Question::choice("Which?", ["a", "b", "c"]).multiple();
    assert!(which.multiple);
    assert_eq!(ask(&which), Answer::Choices(vec![0, 2]));
    let schema = json!({"type": "object", "properties": {"user": {"type": "string"}}});
    assert_eq!(ask_form("Who?", &schema), FormAnswer::Fields(context));
    assert_eq!(ask_form("Who?", &schema), FormAnswer::Unavailable);
    control::halt("enough");

    assert_eq!(artifacts::get("a.txt"), Ok(b"one".to_vec()));
    assert_eq!(artifacts::put("b.txt", "text/plain", b"four"), Ok(()));
    assert_eq!(artifacts::delete("a.txt"), Ok(()));
    assert_eq!(artifacts::delete("a.txt"), Err(ArtifactError::NotFound));
    assert_eq!(artifacts::get("a.txt"), Err(ArtifactError::NotFound));
    let left = Artifact {
        name: "b.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        size: 4,
    };
    assert_eq!(artifacts::list(), Ok(vec![left]));
    let recorded = testing::recorded();
    let form = ("Who?".to_owned(), schema);
    assert_eq!(recorded.forms, [form.clone(), form]);
    assert_eq!(recorded.questions, [which]);
    assert_eq!(recorded.halts, ["enough"]);
}

#[input]
#[derive(Clone, Copy)]
#[schemars(extend("x-summary" = "Scaled by {by}  {result|count:row:rows}"))]
struct Scale {
    by: u32,
}

/// Scales the rows of the table.
#[tool(effect = "read-only")]
fn scale(input: Scale) -> String {
    input.by.to_string()
}

#[test]
fn summary_of_a_call_is_at_the_root_of_the_schema() {
    assert_eq!(
        (tool_of::<scale>().input_schema)(),
        json!({
            "type": "object",
            "properties": {"by": {"type": "integer", "minimum": 0}},
            "required": ["by"],
            "additionalProperties": false,
            "x-summary": "Scaled by {by}  {result|count:row:rows}",
        })
    );
}
