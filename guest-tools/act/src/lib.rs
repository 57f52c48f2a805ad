//! Tools of every shape that ACT's SDK makes, for the tests of the host.

#![cfg(target_family = "wasm")]
#![expect(
    unsafe_code,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    reason = "the SDK's macro makes this code"
)]

use act_sdk::prelude::*;

#[act_component]
mod component {
    use super::*;
    use std::collections::BTreeMap;

    #[act_tool(description = "Greets someone", read_only)]
    fn greet(
        /// The name to greet
        name: String,
    ) -> ActResult<String> {
        Ok(format!("Hello, {name}!"))
    }

    #[act_tool(description = "Adds two numbers", read_only, idempotent)]
    fn add(a: i64, b: i64) -> ActResult<i64> {
        Ok(a + b)
    }

    #[act_tool(description = "Returns the arguments as CBOR", read_only)]
    fn echo(
        text: String,
        number: f64,
        list: Vec<i32>,
        flag: Option<bool>,
    ) -> ActResult<(String, f64, Vec<i32>, Option<bool>, BTreeMap<String, u64>)> {
        let map = BTreeMap::from([("big".to_owned(), u64::MAX), ("a".to_owned(), 1)]);
        Ok((text, number, list, flag, map))
    }

    #[act_tool(description = "Returns JSON")]
    fn json() -> ActResult<Json<BTreeMap<String, Vec<u8>>>> {
        Ok(Json(BTreeMap::from([("numbers".to_owned(), vec![1, 2])])))
    }

    #[act_tool(description = "Returns a picture", idempotent)]
    fn picture() -> ActResult<Content> {
        Ok(Content(
            "image/png",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
        ))
    }

    #[act_tool(description = "Returns bytes")]
    fn raw() -> ActResult<Bytes> {
        Ok(Bytes(vec![0, 255]))
    }

    #[act_tool(description = "Returns nothing")]
    fn nothing() -> ActResult<()> {
        Ok(())
    }

    #[act_tool(description = "Counts in several parts", streaming)]
    async fn count(n: u32, ctx: &mut ActContext<()>) -> ActResult<()> {
        for number in 1..=n {
            ctx.send_text(format!("count {number}"));
        }
        Ok(())
    }

    #[act_tool(description = "Fails", destructive)]
    fn fail(kind: String) -> ActResult<String> {
        Err(ActError::new(kind, "as asked"))
    }

    #[act_tool(description = "Loops without end", timeout_ms = 300)]
    fn spin() -> ActResult<String> {
        loop {
            std::hint::spin_loop();
        }
    }

    #[act_tool(description = "Reads a file", read_only)]
    fn read(path: String) -> ActResult<String> {
        std::fs::read_to_string(&path)
            .map_err(|error| ActError::new("std:internal", error.to_string()))
    }
}
