//! Tools that return their input, of every type, and the fields of the call.

use agent_tool::{Call, Json, Output, input, output, tool};
use serde::Serialize;
use serde_json::{Value, json};

#[input]
pub(crate) struct Numbers {
    /// The numbers to add, of 64 bits with a sign.
    numbers: Vec<i64>,
}

#[output]
pub(crate) struct Sum {
    sum: i64,
    count: usize,
}

#[input]
#[derive(Serialize)]
pub(crate) struct Typed {
    /// A text.
    name: String,
    /// One of a list.
    size: Size,
    /// A number that may be left out.
    ratio: Option<f64>,
    /// A list that may be left out.
    #[serde(default)]
    tags: Vec<String>,
    /// An object that may be left out.
    place: Option<Place>,
}

#[input]
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

#[input]
#[derive(Serialize)]
struct Place {
    /// To the right.
    x: i64,
    /// Down.
    y: i64,
}

/// Adds integers and counts them.
#[tool(effect = "read-only", output = Sum)]
pub(crate) fn add(input: Numbers) -> Result<Json<Sum>, &'static str> {
    let sum = input
        .numbers
        .iter()
        .try_fold(0_i64, |sum, number| sum.checked_add(*number));
    Ok(Json(Sum {
        sum: sum.ok_or("overflow")?,
        count: input.numbers.len(),
    }))
}

/// Returns its input; an absent field is null or its default.
#[tool(effect = "read-only")]
pub(crate) fn typed(input: Typed) -> Output {
    Output::json(&input)
}

/// Returns the identifiers of the call.
#[tool(effect = "read-only")]
pub(crate) fn who(call: &Call) -> Value {
    json!({ "id": call.id, "name": call.name, "idempotency_key": call.idempotency_key })
}
