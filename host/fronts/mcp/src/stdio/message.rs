//! Parses a client's messages.

use rmcp::model::{
    CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientJsonRpcMessage,
    ClientRequest, JsonRpcVersion2_0, RequestId,
};
use serde::Deserialize;

/// A call and nothing besides. Unlike `rmcp`'s types it is read without a buffer and without trying
/// the other kinds of messages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallLine {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(rename = "method")]
    _method: CallToolRequestMethod,
    params: CallToolRequestParams,
}

/// Parses a line: a call directly, and whatever is not plainly a call as `rmcp` does.
///
/// # Errors
/// The line is no message of the protocol.
pub(super) fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, serde_json::Error> {
    let Ok(CallLine { id, mut params, .. }) = serde_json::from_slice(line) else {
        return serde_json::from_slice(line);
    };
    let meta = params.meta.take();
    let mut call = CallToolRequest::new(params);
    if let Some(meta) = meta {
        // Where `rmcp` keeps the metadata of every request.
        call.extensions.insert(meta);
    }
    let request = ClientRequest::CallToolRequest(call);
    Ok(ClientJsonRpcMessage::request(request, id))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use pretty_assertions::assert_eq;
    use rmcp::model::ClientJsonRpcMessage;

    /// Whatever the line, the result is that of `rmcp`.
    #[test]
    fn message_is_parsed_as_rmcp_parses_it() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"n":1.50,"s":"\u00e9"}}}"#,
            r#"{"params":{"_meta":{"progressToken":7,"x":{}},"name":"echo","arguments":{}},"method":"tools/call","id":-3,"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","requestState":"s","inputResponses":{"user":{"action":"decline"}}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","task":{"ttl":1},"more":[1]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"more":true}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":null,"_meta":null}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"[]"#,
        ] {
            let parsed = parse(line.as_bytes()).map_err(|error| error.to_string());
            let expected = serde_json::from_str::<ClientJsonRpcMessage>(line);
            let expected = expected.map_err(|error| error.to_string());
            assert_eq!(format!("{parsed:?}"), format!("{expected:?}"), "{line}");
        }
    }
}
