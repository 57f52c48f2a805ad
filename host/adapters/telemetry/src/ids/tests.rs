use super::*;

#[test]
fn remote_parent_is_a_valid_traceparent() {
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let parent = |is_sampled| RemoteParent {
        trace: TraceId::from_hex(trace).unwrap(),
        span: SpanId::from_hex(span).unwrap(),
        is_sampled,
    };
    let upper = trace.to_uppercase();
    let (zeros, short) = ("0".repeat(32), "0".repeat(16));
    for (text, expected) in [
        (format!("00-{trace}-{span}-01"), Some(parent(true))),
        (format!(" 00-{trace}-{span}-03\n"), Some(parent(true))),
        (format!("00-{trace}-{span}-00"), Some(parent(false))),
        (format!("cc-{trace}-{span}-01-what"), Some(parent(true))),
        (format!("00-{trace}-{span}-01-what"), None),
        (format!("ff-{trace}-{span}-01"), None),
        (format!("00-{upper}-{span}-01"), None),
        (format!("00-{zeros}-{span}-01"), None),
        (format!("00-{trace}-{short}-01"), None),
        (format!("00-{trace}-{span}"), None),
        (format!("00-{trace}-{span}-+1"), None),
        (String::new(), None),
    ] {
        assert_eq!(RemoteParent::parse(&text), expected, "{text}");
    }
}

/// The ids of other sessions, calls and events differ, and those of one stay the same.
#[test]
fn ids_follow_from_the_session() {
    let one: SessionId = "01900000-0000-7000-8000-000000000001".parse().unwrap();
    let other: SessionId = "01900000-0000-7000-8000-000000000002".parse().unwrap();
    let call = CallId("call_0".to_owned());
    assert_eq!(trace_id(one), trace_id(one));
    assert_ne!(trace_id(one), trace_id(other));
    assert_ne!(call_span(one, &call), call_span(other, &call));
    assert_ne!(call_span(one, &call), event_span(one, 0));
    assert_ne!(event_span(one, 0), event_span(one, 1));
}
