//! Random types with values of them: JSON that passes through a function which returns its argument
//! comes back unchanged, in the canonical form of results.

use super::{
    call, failure,
    made::{component, echo},
};
use crate::{Sandbox, SandboxConfig, ToolComponent};
use agent_host_engine::schema::OutputSchema;
use agent_host_types::output::ToolResultOutput;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use proptest::{prelude::*, sample::Index};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use tokio::runtime::Runtime;

/// A WIT type.
#[derive(Clone, Debug)]
enum Ty {
    /// `bool`, `string` and such.
    Simple(&'static str),
    List(Box<Ty>),
    Tuple(Vec<Ty>),
    Record(Vec<Ty>),
    Variant(Vec<Option<Ty>>),
    Enum(usize),
    Flags(usize),
    Option(Box<Ty>),
    Result(Option<Box<Ty>>, Option<Box<Ty>>),
}

const SIMPLE: [&str; 13] = [
    "bool", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f32", "f64", "char", "string",
];

fn ty() -> impl Strategy<Value = Ty> {
    let leaf = prop_oneof![
        6 => prop::sample::select(&SIMPLE[..]).prop_map(Ty::Simple),
        1 => (1..20_usize).prop_map(Ty::Enum),
        1 => (1..32_usize).prop_map(Ty::Flags),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let several = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            boxed.clone().prop_map(Ty::List),
            several.clone().prop_map(Ty::Tuple),
            several.prop_map(Ty::Record),
            prop::collection::vec(prop::option::of(inner), 1..4).prop_map(Ty::Variant),
            boxed.clone().prop_map(Ty::Option),
            (prop::option::of(boxed.clone()), prop::option::of(boxed))
                .prop_map(|(ok, err)| Ty::Result(ok, err)),
        ]
    })
}

impl Ty {
    /// Formats as WIT; named types go to `named`.
    fn wit(&self, named: &mut Vec<String>) -> String {
        let many = |types: &[Self], named: &mut Vec<String>| -> Vec<String> {
            types.iter().map(|ty| ty.wit(named)).collect()
        };
        let (keyword, items) = match self {
            Self::Simple(name) => return (*name).to_owned(),
            Self::List(item) => return format!("list<{}>", item.wit(named)),
            Self::Tuple(items) => return format!("tuple<{}>", many(items, named).join(", ")),
            Self::Option(inner) => return format!("option<{}>", inner.wit(named)),
            Self::Result(ok, err) => {
                let mut side = |side: &Option<Box<Self>>| {
                    side.as_ref().map_or("_".to_owned(), |ty| ty.wit(named))
                };
                return match (side(ok).as_str(), side(err).as_str()) {
                    ("_", "_") => "result".to_owned(),
                    (ok, "_") => format!("result<{ok}>"),
                    (ok, err) => format!("result<{ok}, {err}>"),
                };
            }
            Self::Record(fields) => {
                let fields = many(fields, named).into_iter().enumerate();
                (
                    "record",
                    fields.map(|(at, ty)| format!("f{at}: {ty}")).collect(),
                )
            }
            Self::Variant(cases) => {
                let mut case = |(at, ty): (usize, &Option<Self>)| match ty {
                    Some(ty) => format!("c{at}({})", ty.wit(named)),
                    None => format!("c{at}"),
                };
                (
                    "variant",
                    cases.iter().enumerate().map(&mut case).collect::<Vec<_>>(),
                )
            }
            Self::Enum(count) => ("enum", (0..*count).map(|at| format!("e{at}")).collect()),
            Self::Flags(count) => ("flags", (0..*count).map(|at| format!("b{at}")).collect()),
        };
        let name = format!("t{}", named.len());
        named.push(format!("{keyword} {name} {{ {} }}", items.join(", ")));
        name
    }

    /// Returns whether `null` is a value of it.
    fn is_nullable(&self) -> bool {
        matches!(self, Self::Option(inner) if !inner.is_nullable())
    }

    /// Returns JSON for an argument, and the JSON expected of the result.
    fn value(&self) -> BoxedStrategy<(Value, Value)> {
        match self {
            Self::Simple(name) => simple(name),
            Self::List(item) if matches!(**item, Self::Simple("u8")) => same(
                prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| STANDARD.encode(bytes)),
            ),
            Self::List(item) => pairs(prop::collection::vec(item.value(), 0..4).boxed()),
            Self::Tuple(items) => pairs(items.iter().map(Self::value).collect::<Vec<_>>().boxed()),
            Self::Record(fields) => record(fields),
            Self::Variant(cases) => {
                let cases = cases.iter().enumerate();
                let cases: Vec<_> = cases
                    .map(|(at, ty)| case(&format!("c{at}"), ty.as_ref()))
                    .collect();
                one_of(cases)
            }
            Self::Enum(count) => same((0..*count).prop_map(|at| format!("e{at}"))),
            Self::Flags(count) => {
                let names: Vec<String> = (0..*count).map(|at| format!("b{at}")).collect();
                same(prop::sample::subsequence(names, 0..=*count))
            }
            Self::Option(inner) if inner.is_nullable() => {
                one_of(vec![case("some", Some(inner)), case("none", None)])
            }
            Self::Option(inner) => one_of(vec![same(Just(Value::Null)), inner.value()]),
            Self::Result(ok, err) => {
                one_of(vec![case("ok", ok.as_deref()), case("err", err.as_deref())])
            }
        }
    }
}

fn one_of(options: Vec<BoxedStrategy<(Value, Value)>>) -> BoxedStrategy<(Value, Value)> {
    prop::strategy::Union::new(options).boxed()
}

/// Values that come back unchanged.
fn same<T: Into<Value> + std::fmt::Debug>(
    values: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<(Value, Value)> {
    values
        .prop_map(|value| {
            let value: Value = value.into();
            (value.clone(), value)
        })
        .boxed()
}

fn pairs(items: BoxedStrategy<Vec<(Value, Value)>>) -> BoxedStrategy<(Value, Value)> {
    items
        .prop_map(|items| {
            let (inputs, outputs): (Vec<_>, Vec<_>) = items.into_iter().unzip();
            (Value::Array(inputs), Value::Array(outputs))
        })
        .boxed()
}

/// A field that may be `null` may be missing, and comes back as `null`.
fn record(fields: &[Ty]) -> BoxedStrategy<(Value, Value)> {
    let values: Vec<_> = fields.iter().map(Ty::value).collect();
    let nullable: Vec<bool> = fields.iter().map(Ty::is_nullable).collect();
    (values, any::<bool>())
        .prop_map(move |(values, leave_out)| {
            let (mut inputs, mut outputs) = (Map::new(), Map::new());
            for (at, (input, output)) in values.into_iter().enumerate() {
                if !(leave_out && nullable[at] && input.is_null()) {
                    inputs.insert(format!("f{at}"), input);
                }
                outputs.insert(format!("f{at}"), output);
            }
            (Value::Object(inputs), Value::Object(outputs))
        })
        .boxed()
}

fn case(tag: &str, ty: Option<&Ty>) -> BoxedStrategy<(Value, Value)> {
    let tag = tag.to_owned();
    match ty {
        None => same(Just(json!({ "tag": tag }))),
        Some(ty) => ty
            .value()
            .prop_map(move |(input, output)| {
                (
                    json!({ "tag": tag, "val": input }),
                    json!({ "tag": tag, "val": output }),
                )
            })
            .boxed(),
    }
}

fn simple(name: &str) -> BoxedStrategy<(Value, Value)> {
    match name {
        "bool" => same(any::<bool>()),
        "s8" => same(any::<i8>()),
        "u8" => same(any::<u8>()),
        "s16" => same(any::<i16>()),
        "u16" => same(any::<u16>()),
        "s32" => same(any::<i32>()),
        "u32" => same(any::<u32>()),
        "s64" => {
            wide(prop_oneof![any::<i64>(), -(1_i64 << 53) - 2..-(1 << 53) + 2].prop_map(i128::from))
        }
        "u64" => {
            wide(prop_oneof![any::<u64>(), (1_u64 << 53) - 2..(1 << 53) + 2].prop_map(i128::from))
        }
        "f32" => one_of(vec![
            same(any::<f32>().prop_map(|float| float.to_string().parse::<f64>().unwrap())),
            no_number(),
        ]),
        "f64" => one_of(vec![same(any::<f64>()), no_number()]),
        "char" => same(any::<char>().prop_map(String::from)),
        "string" => same(any::<String>()),
        other => panic!("no such type: {other}"),
    }
}

fn no_number() -> BoxedStrategy<(Value, Value)> {
    same(prop::sample::select(&["NaN", "Infinity", "-Infinity"][..]))
}

/// A number or digits as an argument; a number in the result if a 64-bit float holds all integers
/// up to it.
fn wide(values: impl Strategy<Value = i128> + 'static) -> BoxedStrategy<(Value, Value)> {
    let number = |value: i128| serde_json::from_str::<Value>(&value.to_string()).unwrap();
    (values, any::<bool>())
        .prop_map(move |(value, digits)| {
            let text = Value::String(value.to_string());
            let input = if digits { text.clone() } else { number(value) };
            let exact = value.unsigned_abs() < 1 << 53;
            (input, if exact { number(value) } else { text })
        })
        .boxed()
}

/// A type, and a list of values of it.
fn typed_values() -> impl Strategy<Value = (Ty, Value, Value)> {
    ty().prop_flat_map(|ty| {
        let list = Ty::List(Box::new(ty.clone())).value();
        list.prop_map(move |(input, output)| (ty.clone(), input, output))
    })
}

/// JSON of any kind, small.
fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9=+]{0,6}".prop_map(Value::from),
        Just(json!([])),
        Just(json!([1, "1", null])),
        Just(json!({})),
        Just(json!({ "tag": "c0", "val": 1 })),
        Just(json!({ "f0": 1 })),
    ]
}

/// Replaces one of the values in a value.
fn replace(value: &mut Value, at: &Index, with: &Value) {
    fn count(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(fields) => fields.values().map(count).sum(),
            _ => 0,
        }
    }
    fn put(value: &mut Value, left: &mut usize, with: &Value) {
        if *left == 0 {
            *value = with.clone();
        }
        let Some(rest) = left.checked_sub(1) else {
            return;
        };
        *left = rest;
        let put_in = |inner: &mut Value| {
            let inside = count(inner);
            if *left < inside {
                put(inner, left, with);
                return true;
            }
            *left -= inside;
            false
        };
        match value {
            Value::Array(items) => drop(items.iter_mut().any(put_in)),
            Value::Object(fields) => drop(fields.values_mut().any(put_in)),
            _ => {}
        }
    }
    let mut left = at.index(count(value));
    put(value, &mut left, with);
}

struct Host {
    runtime: Runtime,
    sandbox: Sandbox,
}

static HOST: LazyLock<Host> = LazyLock::new(|| Host {
    runtime: Runtime::new().unwrap(),
    sandbox: Sandbox::new(SandboxConfig {
        concurrent_calls: 2,
        ..SandboxConfig::default()
    })
    .unwrap(),
});

async fn echoing(sandbox: &Sandbox, ty: &Ty) -> ToolComponent {
    let mut named = Vec::new();
    let of = ty.wit(&mut named);
    let wit = format!(
        "package test:made; interface api {{ {} echo: func(v: list<{of}>) -> list<{of}>; }} world w {{ export api; }}",
        named.join(" ")
    );
    let bytes = component(&wit, &echo("test:made/api#echo"));
    sandbox.load(bytes).await.unwrap()
}

proptest! {
    /// JSON to WIT to the guest and back is the identity, and everything fits the schemas.
    #[test]
    fn any_typed_value_round_trips((ty, input, output) in typed_values()) {
        let Host { runtime, sandbox } = &*HOST;
        runtime.block_on(async {
            let tool = echoing(sandbox, &ty).await;
            let schema = tool.definitions()[0].output_schema.clone().unwrap();
            let promised = OutputSchema::compile(&schema).unwrap();
            prop_assert_eq!(promised.validate(&output), Ok(()));
            let echoed = call(&tool, "echo", &json!({ "v": input })).await;
            prop_assert_eq!(&echoed, &ToolResultOutput::json(output.clone()));
            // The result is a valid argument.
            let again = call(&tool, "echo", &json!({ "v": output })).await;
            prop_assert_eq!(again, echoed);
            Ok(())
        })?;
    }

    /// A value with a replaced part is refused before the guest runs, or is another value of the
    /// type.
    #[test]
    fn mistyped_value_is_refused_or_round_trips(
        (ty, mut input, _) in typed_values(),
        at in any::<Index>(),
        with in anything(),
    ) {
        replace(&mut input, &at, &with);
        let Host { runtime, sandbox } = &*HOST;
        runtime.block_on(async {
            let tool = echoing(sandbox, &ty).await;
            let arguments = json!({ "v": input });
            let object = arguments.as_object().unwrap();
            let fits = tool.check_input("echo", &object.clone().into()).and_then(|()| tool.check("echo", object));
            match (fits, call(&tool, "echo", &arguments).await) {
                (Ok(()), ToolResultOutput::Json(output)) => {
                    let again = call(&tool, "echo", &json!({ "v": output })).await;
                    prop_assert_eq!(again, ToolResultOutput::Json(output));
                }
                (fits, other) => {
                    prop_assert!(fits.is_err(), "{:?}", other);
                    prop_assert_eq!(failure(&other).0, "invalid-input");
                }
            }
            Ok(())
        })?;
    }
}
