//! Hook components from WebAssembly text: each function is a verdict, or the code that makes it.

use super::{PAGE_BYTES, REALLOC, contract::TYPES};

/// The first address of the texts of verdicts.
const TEXTS: usize = 4096;

/// The types of hooks, matching `wit/hook.wit`.
const HOOK_TYPES: &str = r#"(import "agent:tool/hook-types@0.1.0" (instance $hook-types
        (alias outer $guest $tool-result-output (type $o))
        (type $h1 (record (field "system" (option string)) (field "messages" string) (field "tools" (list string))))
        (export "model-request" (type $request (eq $h1)))
        (type $h2 (record (field "text" string) (field "calls" string)))
        (export "model-reply" (type $reply (eq $h2)))
        (type $h3 (variant (case "pass") (case "block" string) (case "fallback" string)))
        (export "request-verdict" (type $v1 (eq $h3)))
        (type $h4 (variant (case "pass") (case "modify" string) (case "retry" string) (case "block" string)
            (case "fallback" string)))
        (export "reply-verdict" (type $v2 (eq $h4)))
        (type $h5 (variant (case "pass") (case "modify" string) (case "ask") (case "block" string)
            (case "fallback" $o)))
        (export "call-verdict" (type $v3 (eq $h5)))
        (type $h6 (variant (case "pass") (case "modify" $o) (case "retry") (case "block" string)))
        (export "result-verdict" (type $v4 (eq $h6)))))
    (alias export $hook-types "model-request" (type $model-request))
    (alias export $hook-types "model-reply" (type $model-reply))
    (alias export $hook-types "request-verdict" (type $request-verdict))
    (alias export $hook-types "reply-verdict" (type $reply-verdict))
    (alias export $hook-types "call-verdict" (type $call-verdict))
    (alias export $hook-types "result-verdict" (type $result-verdict))"#;

/// The core parameters of a call.
const CALL: &str = "(param $id i32) (param $id-len i32) (param $name i32) (param $name-len i32)
        (param $input i32) (param $input-len i32) (param $key i32) (param $key-len i32)";

/// A verdict: the number of a case of its variant, with what it holds.
#[derive(Clone, Copy)]
pub enum HookVerdict<'a> {
    /// A case without a value; 0 is `pass`.
    Case(u32),
    /// A case with a text.
    Text(u32, &'a str),
    /// A case with a result: a variant with a string, as in [`super::Body::Text`].
    Output(u32, u32, &'a str),
    /// Code that leaves the address of the verdict.
    Code(&'a str),
}

/// A hook under construction. What is not given passes.
#[derive(Clone, Copy)]
pub struct HookGuest<'a> {
    /// The verdict about a request: 0 pass, 1 block, 2 fallback.
    pub before_model: HookVerdict<'a>,
    /// The verdict about a reply: 0 pass, 1 modify, 2 retry, 3 block, 4 fallback.
    pub after_model: HookVerdict<'a>,
    /// The verdict about a call: 0 pass, 1 modify, 2 ask, 3 block, 4 fallback. Code has `$input`
    /// and
    /// `$input-len`.
    pub before_tool: HookVerdict<'a>,
    /// The verdict about a result: 0 pass, 1 modify, 2 retry, 3 block.
    pub after_tool: HookVerdict<'a>,
}

impl Default for HookGuest<'_> {
    fn default() -> Self {
        Self {
            before_model: HookVerdict::Case(0),
            after_model: HookVerdict::Case(0),
            before_tool: HookVerdict::Case(0),
            after_tool: HookVerdict::Case(0),
        }
    }
}

/// Code that returns the arguments as those of `modify`.
pub const MODIFY_ECHO: &str = "(i32.store8 (i32.const 16) (i32.const 1))
    (i32.store (i32.const 20) (local.get $input))
    (i32.store (i32.const 24) (local.get $input-len))
    (i32.const 16)";

impl HookGuest<'_> {
    /// The component.
    ///
    /// # Panics
    /// When the text is not WebAssembly.
    pub fn bytes(&self) -> Vec<u8> {
        wat::parse_str(self.text()).unwrap()
    }

    fn text(&self) -> String {
        let mut texts = String::new();
        let verdicts = [
            self.before_model,
            self.after_model,
            self.before_tool,
            self.after_tool,
        ];
        let codes = verdicts.map(|verdict| code(verdict, &mut texts));
        let [before_model, after_model, before_tool, after_tool] = codes;
        let heap = (TEXTS + texts.len()).next_multiple_of(16);
        let pages = heap.div_ceil(PAGE_BYTES) + 1;
        let data: String = texts.bytes().map(|byte| format!("\\{byte:02x}")).collect();
        let lift = r#"(memory (core memory $main "memory")) (realloc (core func $main "realloc"))"#;
        format!(
            r#"(component $guest
    {TYPES}
    {HOOK_TYPES}
    (core module $main-module
        (memory (export "memory") {pages})
        (global $next (mut i32) (i32.const {heap}))
        (data (i32.const {TEXTS}) "{data}")
        {REALLOC}
        (func (export "before-model") (param i32 i32 i32 i32 i32 i32 i32) (result i32) {before_model})
        (func (export "after-model") (param i32 i32 i32 i32) (result i32) {after_model})
        (func (export "before-tool") {CALL} (result i32) {before_tool})
        (func (export "after-tool") {CALL} (param i32 i32 i32 i32) (result i32) {after_tool}))
    (core instance $main (instantiate $main-module))
    (func $before-model (param "request" $model-request) (result $request-verdict)
        (canon lift (core func $main "before-model") {lift}))
    (func $after-model (param "reply" $model-reply) (result $reply-verdict)
        (canon lift (core func $main "after-model") {lift}))
    (func $before-tool (param "call" $tool-call) (result $call-verdict)
        (canon lift (core func $main "before-tool") {lift}))
    (func $after-tool (param "call" $tool-call) (param "output" $tool-result-output) (result $result-verdict)
        (canon lift (core func $main "after-tool") {lift}))
    (instance $hook
        (export "before-model" (func $before-model))
        (export "after-model" (func $after-model))
        (export "before-tool" (func $before-tool))
        (export "after-tool" (func $after-tool)))
    (export "agent:tool/hook@0.1.0" (instance $hook)))"#
        )
    }
}

/// Returns the code of a function; `texts` gets what it refers to.
fn code(verdict: HookVerdict<'_>, texts: &mut String) -> String {
    let mut place = |text: &str| {
        let address = TEXTS + texts.len();
        texts.push_str(text);
        (address, text.len())
    };
    let words: Vec<usize> = match verdict {
        HookVerdict::Code(code) => return code.to_owned(),
        HookVerdict::Case(case) => vec![case as usize],
        HookVerdict::Text(case, text) => {
            let (address, length) = place(text);
            vec![case as usize, address, length]
        }
        HookVerdict::Output(case, variant, text) => {
            let (address, length) = place(text);
            vec![case as usize, variant as usize, address, length]
        }
    };
    let stores = words.iter().enumerate().map(|(index, word)| {
        let at = 16 + 4 * index;
        format!("(i32.store (i32.const {at}) (i32.const {word}))")
    });
    format!("{} (i32.const 16)", stores.collect::<String>())
}
