use super::*;
use crate::{provider::Provider, testing::playback::call};
use agent_host_types::model::StopReason;
use pretty_assertions::assert_eq;

/// Decodes a stream that arrives in these pieces. Returns what was shown, and the reply.
fn decode<'a>(
    provider: Provider,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    end: BodyEnd,
) -> (Vec<String>, Result<ModelReply, String>) {
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| shown.lock().unwrap().push(format!("{delta:?}"));
    let mut decoder = ResponseDecoder::new(provider.wire(), "m", &[], ReasoningTags::Auto);
    let reply = pieces
        .into_iter()
        .try_for_each(|piece| decoder.push(piece, &sink))
        .and_then(|()| decoder.end(&sink))
        .and_then(|()| decoder.finish(end, &sink));
    let reply = reply.map_err(|error| error.to_string());
    (shown.into_inner().unwrap(), reply)
}

/// The data of a stream as each wire frames it.
fn stream(provider: Provider, data: &[&str]) -> String {
    let frame = |data: &&str| match provider {
        Provider::Ollama => format!("{data}\n"),
        _ => format!("data: {data}\n\n"),
    };
    data.iter().map(frame).collect()
}

/// For each wire: a text, a call, and half a call or one without arguments.
const BEGUN: [(Provider, &str, &str, &str); 5] = [
    (
        Provider::Anthropic,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"read","input":{"a":1}}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c2","name":"read","input":{}}}"#,
    ),
    (
        Provider::OpenAi,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"a\":1}"}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c2","name":"read","arguments":""}}"#,
    ),
    (
        Provider::OpenAiCompat,
        r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":1}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"read","arguments":"{\"a\":"}}]}}]}"#,
    ),
    (
        Provider::Gemini,
        r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c1","name":"read","args":{"a":1}}}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c2","name":"read"}}]}}]}"#,
    ),
    (
        Provider::Ollama,
        r#"{"message":{"content":"Hi"}}"#,
        r#"{"message":{"tool_calls":[{"id":"c1","function":{"name":"read","arguments":{"a":1}}}]}}"#,
        r#"{"message":{"tool_calls":[{"id":"c2","function":{"name":"read","arguments":"{\"a\":"}}]}}"#,
    ),
];

#[test]
fn whole_reply_without_reason_ends_for_an_unknown_one() {
    let unfinished = Err(DecodeError::Unfinished.to_string());
    for (provider, text, read, half) in BEGUN {
        let reply = ModelReply {
            text: "Hi".to_owned(),
            stop_reason: Some(StopReason::Unknown),
            ..ModelReply::default()
        };
        let with_call = ModelReply {
            tool_calls: vec![call("c1", "read", "{\"a\":1}")],
            ..reply.clone()
        };
        let table: [(&[&str], BodyEnd, Result<ModelReply, String>); 7] = [
            (&[text], BodyEnd::Complete, Ok(reply.clone())),
            (&[text, DONE], BodyEnd::Cut, Ok(reply)),
            (&[text, read], BodyEnd::Complete, Ok(with_call)),
            (&[text], BodyEnd::Cut, unfinished.clone()),
            (&[text, read, half], BodyEnd::Complete, unfinished.clone()),
            (&[DONE], BodyEnd::Complete, unfinished.clone()),
            (&[], BodyEnd::Complete, unfinished.clone()),
        ];
        for (data, end, expected) in table {
            let stream = stream(provider, data);
            let (_, decoded) = decode(provider, [stream.as_bytes()], end);
            let decoded = decoded.map(|reply| ModelReply {
                metadata: serde_json::Map::new(),
                ..reply
            });
            assert_eq!(decoded, expected, "{provider:?} {data:?} {end:?}");
        }
    }
}

/// For each wire: the text in two pieces, and the end.
fn in_two(provider: Provider, first: &str, second: &str) -> Vec<String> {
    let delta = |text: &str| match provider {
        Provider::Anthropic => format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ),
        Provider::OpenAi => {
            format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{text}"}}"#)
        }
        Provider::OpenAiCompat => {
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
        }
        Provider::Gemini => {
            format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}}}}]}}"#)
        }
        Provider::Ollama => format!(r#"{{"message":{{"content":"{text}"}}}}"#),
    };
    vec![delta(first), delta(second)]
}

#[test]
fn halves_of_a_character_join_in_every_wire() {
    for (first, second, whole, shown) in [
        (
            r"a\ud83d",
            r"\ude00b",
            "a\u{1f600}b",
            vec!["a", "\u{1f600}b"],
        ),
        (r"\uD83D", r"\uDE00", "\u{1f600}", vec!["\u{1f600}"]),
        (r"a\ud83d", "b", "a\u{fffd}b", vec!["a", "\u{fffd}b"]),
        ("a", r"\ude00b", "a\u{fffd}b", vec!["a", "\u{fffd}b"]),
        (r"a\ud83d b", "c", "a\u{fffd} bc", vec!["a\u{fffd} b", "c"]),
        ("a", r"b\ud83d", "ab\u{fffd}", vec!["a", "b", "\u{fffd}"]),
        (r"\ud83d\ude00", "b", "\u{1f600}b", vec!["\u{1f600}", "b"]),
    ] {
        for provider in Provider::ALL {
            let data = in_two(provider, first, second);
            let data: Vec<&str> = data.iter().map(String::as_str).collect();
            let stream = stream(provider, &data);
            let expected: Vec<String> = shown
                .iter()
                .map(|text| format!("{:?}", ModelDelta::Text(text)))
                .collect();
            let whole_stream = [stream.as_bytes()];
            let (deltas, reply) = decode(provider, whole_stream, BodyEnd::Complete);
            assert_eq!(deltas, expected, "{provider:?} {first} {second}");
            assert_eq!(reply.as_ref().unwrap().text, whole, "{provider:?}");
            let bytes = stream.as_bytes().chunks(1);
            assert_eq!(decode(provider, bytes, BodyEnd::Complete), (deltas, reply));
        }
    }
}

/// The halves in arguments are text of JSON in a string of JSON, or in the string itself.
#[test]
fn halves_in_arguments_join() {
    let piece = |arguments: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"t","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    for (first, second, expected) in [
        (r#"{\"a\":\"\\ud83d"#, r#"\\ude00\"}"#, "\u{1f600}"),
        (r#"{\"a\":\"\ud83d"#, r#"\ude00\"}"#, "\u{1f600}"),
        (r#"{\"a\":\"\\ud83d"#, r#"\"}"#, "\u{fffd}"),
        (r#"{\"a\":\"\ud83d"#, r#"\"}"#, "\u{fffd}"),
    ] {
        let (first, second) = (piece(first), piece(second));
        let stream = stream(Provider::OpenAiCompat, &[&first, &second, DONE]);
        let (_, reply) = decode(Provider::OpenAiCompat, [stream.as_bytes()], BodyEnd::Cut);
        let calls = reply.unwrap().tool_calls;
        assert_eq!(calls[0].input.as_ref().unwrap()["a"], expected, "{stream}");
        serde_json::from_str::<serde_json::Value>(&calls[0].raw_arguments).unwrap();
    }
}

#[test]
fn halves_in_whole_bodies_are_replaced() {
    let body = r#"{"choices":[{"finish_reason":"stop","message":{"content":"a\ud83d"}}]}"#;
    let mut decoder =
        ResponseDecoder::new(Provider::OpenAiCompat.wire(), "m", &[], ReasoningTags::Auto);
    decoder.whole(body, &|_| {}).unwrap();
    let reply = decoder.finish(BodyEnd::Complete, &|_| {}).unwrap();
    assert_eq!(reply.text, "a\u{fffd}");
}
