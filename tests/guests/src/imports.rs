//! The host functions that a guest can import, each with its interfaces as component text.

/// A host function: where a component imports it from, and its lowered form.
#[derive(Clone, Copy)]
pub struct Import {
    /// The component-level imports, in order; several functions may share one.
    pub(crate) interfaces: &'static [&'static str],
    /// The path of the function for `canon lower`.
    pub(crate) function: &'static str,
    /// The name by which the guest's code calls it, `$NAME`.
    pub(crate) name: &'static str,
    /// Its core parameters and results.
    pub(crate) signature: &'static str,
}

/// Every import, for guests that name theirs in their text.
pub(crate) const ALL: [Import; 27] = [
    PROGRESS,
    PARTIAL_TEXT,
    PARTIAL_BYTES,
    STATE_GET,
    STATE_MERGE,
    CONTEXT_GET,
    HALT,
    ASK,
    EXIT,
    RANDOM,
    CWD,
    ENVIRONMENT,
    BLOCK,
    POLL,
    TIMER,
    DROP_POLLABLE,
    NOW,
    WRITE,
    STDOUT,
    STDIN,
    READ,
    FIELDS,
    FIELDS_SET,
    FIELDS_CLONE,
    DIRECTORIES,
    MAKE_DIR,
    NEW_OWN,
];

/// `progress.report`.
pub const PROGRESS: Import = Import {
    interfaces: &[r#"(import "agent:tool/progress@0.1.0" (instance $progress
        (export "report" (func (param "message" string) (param "fraction" (option f64))))))"#],
    function: r#"$progress "report""#,
    name: "report",
    signature: "(param i32 i32 i32 f64)",
};

const PARTIAL: &str = r#"(import "agent:tool/partial@0.1.0" (instance $partial
        (export "text" (func (param "text" string) (result bool)))
        (export "bytes" (func (param "bytes" (list u8)) (result bool)))))"#;

/// `partial.text`.
pub const PARTIAL_TEXT: Import = Import {
    interfaces: &[PARTIAL],
    function: r#"$partial "text""#,
    name: "text",
    signature: "(param i32 i32) (result i32)",
};

/// `partial.bytes`.
pub const PARTIAL_BYTES: Import = Import {
    interfaces: &[PARTIAL],
    function: r#"$partial "bytes""#,
    name: "more",
    signature: "(param i32 i32) (result i32)",
};

const STATE: &str = r#"(import "agent:tool/state@0.1.0" (instance $state
        (export "get" (func (result string)))
        (export "merge" (func (param "delta" string)))))"#;

/// `tool.call` of the tool behind a filter, which [`PASS`] calls.
pub const BEHIND: Import = Import {
    interfaces: &[r#"(import "agent:tool/tool@0.1.0" (instance $behind
        (alias outer 1 $tool-call (type $c))
        (alias outer 1 $tool-result-output (type $o))
        (export "call" (func (param "call" $c) (result $o)))))"#],
    function: r#"$behind "call""#,
    name: "behind",
    signature: "(param i32 i32 i32 i32 i32 i32 i32 i32 i32)",
};

/// `state.get`.
pub const STATE_GET: Import = Import {
    interfaces: &[STATE],
    function: r#"$state "get""#,
    name: "get",
    signature: "(param i32)",
};

/// `state.merge`.
pub const STATE_MERGE: Import = Import {
    interfaces: &[STATE],
    function: r#"$state "merge""#,
    name: "merge",
    signature: "(param i32 i32)",
};

/// `context.get`.
pub const CONTEXT_GET: Import = Import {
    interfaces: &[r#"(import "agent:tool/context@0.1.0" (instance $context
        (export "get" (func (result string)))))"#],
    function: r#"$context "get""#,
    name: "context",
    signature: "(param i32)",
};

/// `control.halt`.
pub const HALT: Import = Import {
    interfaces: &[r#"(import "agent:tool/control@0.1.0" (instance $control
        (export "halt" (func (param "message" string)))))"#],
    function: r#"$control "halt""#,
    name: "halt",
    signature: "(param i32 i32)",
};

/// `human.ask`.
pub const ASK: Import = Import {
    interfaces: &[r#"(import "agent:tool/human@0.1.0" (instance $human
        (type $q (record (field "prompt" string) (field "choices" (list string)) (field "free-text" bool) (field "multiple" bool)))
        (export "question" (type $question (eq $q)))
        (type $a (variant (case "text" string) (case "choice" u32) (case "choices" (list u32)) (case "cancelled") (case "unavailable")))
        (export "answer" (type $answer (eq $a)))
        (export "ask" (func (param "question" $question) (result $answer)))))"#],
    function: r#"$human "ask""#,
    name: "ask",
    signature: "(param i32 i32 i32 i32 i32 i32 i32)",
};

/// `agent:tool/human.ask-form`. Takes a prompt, a schema, and an address for the answer.
pub const ASK_FORM: Import = Import {
    interfaces: &[r#"(import "agent:tool/human@0.1.0" (instance $human
        (type $f (variant (case "fields" string) (case "cancelled") (case "unavailable")))
        (export "form-answer" (type $form-answer (eq $f)))
        (export "ask-form" (func (param "prompt" string) (param "schema" string) (result $form-answer)))))"#],
    function: r#"$human "ask-form""#,
    name: "ask-form",
    signature: "(param i32 i32 i32 i32 i32)",
};

/// `wasi:cli/exit.exit`.
pub const EXIT: Import = Import {
    interfaces: &[r#"(import "wasi:cli/exit@0.2.6" (instance $exit
        (export "exit" (func (param "status" (result))))))"#],
    function: r#"$exit "exit""#,
    name: "exit",
    signature: "(param i32)",
};

/// `wasi:random/random.get-random-bytes`.
pub const RANDOM: Import = Import {
    interfaces: &[r#"(import "wasi:random/random@0.2.6" (instance $random
        (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))"#],
    function: r#"$random "get-random-bytes""#,
    name: "random",
    signature: "(param i64 i32)",
};

const ENVIRONMENT_TYPES: &str = r#"(import "wasi:cli/environment@0.2.6" (instance $environment
        (export "get-environment" (func (result (list (tuple string string)))))
        (export "initial-cwd" (func (result (option string))))))"#;

/// `wasi:cli/environment.initial-cwd`.
pub const CWD: Import = Import {
    interfaces: &[ENVIRONMENT_TYPES],
    function: r#"$environment "initial-cwd""#,
    name: "cwd",
    signature: "(param i32)",
};

/// `wasi:cli/environment.get-environment`.
pub const ENVIRONMENT: Import = Import {
    interfaces: &[ENVIRONMENT_TYPES],
    function: r#"$environment "get-environment""#,
    name: "environment",
    signature: "(param i32)",
};

pub(crate) const POLLABLE: &str = r#"(import "wasi:io/poll@0.2.6" (instance $poll
        (export "pollable" (type $p (sub resource)))
        (export "[method]pollable.block" (func (param "self" (borrow $p))))
        (export "poll" (func (param "in" (list (borrow $p))) (result (list u32))))))
    (alias export $poll "pollable" (type $pollable))"#;

/// `pollable.block`.
pub const BLOCK: Import = Import {
    interfaces: &[POLLABLE],
    function: r#"$poll "[method]pollable.block""#,
    name: "block",
    signature: "(param i32)",
};

/// `poll.poll`.
pub const POLL: Import = Import {
    interfaces: &[POLLABLE],
    function: r#"$poll "poll""#,
    name: "poll",
    signature: "(param i32 i32 i32)",
};

const CLOCK: &str = r#"(import "wasi:clocks/monotonic-clock@0.2.6" (instance $clock
        (alias outer 1 $pollable (type $p))
        (export "pollable" (type $p2 (eq $p)))
        (export "now" (func (result u64)))
        (export "subscribe-duration" (func (param "when" u64) (result (own $p2))))))"#;

/// `monotonic-clock.subscribe-duration`.
pub const TIMER: Import = Import {
    interfaces: &[POLLABLE, CLOCK],
    function: r#"$clock "subscribe-duration""#,
    name: "timer",
    signature: "(param i64) (result i32)",
};

/// `monotonic-clock.now`.
pub const NOW: Import = Import {
    interfaces: &[POLLABLE, CLOCK],
    function: r#"$clock "now""#,
    name: "now",
    signature: "(result i64)",
};

/// Drops a pollable.
pub const DROP_POLLABLE: Import = Import {
    interfaces: &[POLLABLE],
    function: "resource.drop $pollable",
    name: "drop-pollable",
    signature: "(param i32)",
};

pub(crate) const ERROR: &str = r#"(import "wasi:io/error@0.2.6" (instance $io-error (export "error" (type (sub resource)))))
    (alias export $io-error "error" (type $error))"#;

pub(crate) const STREAMS: &str = r#"(import "wasi:io/streams@0.2.6" (instance $streams
        (alias outer 1 $error (type $e))
        (export "error" (type $e2 (eq $e)))
        (export "output-stream" (type $os (sub resource)))
        (export "input-stream" (type $is (sub resource)))
        (type $se (variant (case "last-operation-failed" (own $e2)) (case "closed")))
        (export "stream-error" (type $se2 (eq $se)))
        (export "[method]input-stream.blocking-read"
            (func (param "self" (borrow $is)) (param "len" u64) (result (result (list u8) (error $se2)))))
        (export "[method]output-stream.blocking-write-and-flush"
            (func (param "self" (borrow $os)) (param "contents" (list u8)) (result (result (error $se2)))))))
    (alias export $streams "input-stream" (type $input-stream))
    (alias export $streams "output-stream" (type $output-stream))"#;

/// `output-stream.blocking-write-and-flush`.
pub const WRITE: Import = Import {
    interfaces: &[ERROR, STREAMS],
    function: r#"$streams "[method]output-stream.blocking-write-and-flush""#,
    name: "write",
    signature: "(param i32 i32 i32 i32)",
};

/// `input-stream.blocking-read`.
pub const READ: Import = Import {
    interfaces: &[ERROR, STREAMS],
    function: r#"$streams "[method]input-stream.blocking-read""#,
    name: "read",
    signature: "(param i32 i64 i32)",
};

/// `wasi:cli/stdout.get-stdout`.
pub const STDOUT: Import = Import {
    interfaces: &[
        ERROR,
        STREAMS,
        r#"(import "wasi:cli/stdout@0.2.6" (instance $stdout
        (alias outer 1 $output-stream (type $os))
        (export "output-stream" (type $os2 (eq $os)))
        (export "get-stdout" (func (result (own $os2))))))"#,
    ],
    function: r#"$stdout "get-stdout""#,
    name: "stdout",
    signature: "(result i32)",
};

/// `wasi:cli/stdin.get-stdin`.
pub const STDIN: Import = Import {
    interfaces: &[
        ERROR,
        STREAMS,
        r#"(import "wasi:cli/stdin@0.2.6" (instance $stdin
        (alias outer 1 $input-stream (type $is))
        (export "input-stream" (type $is2 (eq $is)))
        (export "get-stdin" (func (result (own $is2))))))"#,
    ],
    function: r#"$stdin "get-stdin""#,
    name: "stdin",
    signature: "(result i32)",
};

const HTTP_TYPES: &str = r#"(import "wasi:http/types@0.2.6" (instance $http
        (export "fields" (type $f (sub resource)))
        (type $he (variant (case "invalid-syntax") (case "forbidden") (case "immutable")))
        (export "header-error" (type $he2 (eq $he)))
        (export "[constructor]fields" (func (result (own $f))))
        (export "[method]fields.clone" (func (param "self" (borrow $f)) (result (own $f))))
        (export "[method]fields.append" (func (param "self" (borrow $f)) (param "name" string)
            (param "value" (list u8)) (result (result (error $he2)))))))"#;

/// `wasi:http/types` `fields.constructor`.
pub const FIELDS: Import = Import {
    interfaces: &[HTTP_TYPES],
    function: r#"$http "[constructor]fields""#,
    name: "fields",
    signature: "(result i32)",
};

/// `fields.append`.
pub const FIELDS_SET: Import = Import {
    interfaces: &[HTTP_TYPES],
    function: r#"$http "[method]fields.append""#,
    name: "append",
    signature: "(param i32 i32 i32 i32 i32 i32)",
};

/// `fields.clone`.
pub const FIELDS_CLONE: Import = Import {
    interfaces: &[HTTP_TYPES],
    function: r#"$http "[method]fields.clone""#,
    name: "clone",
    signature: "(param i32) (result i32)",
};

const FILES: &str = r#"(import "wasi:filesystem/types@0.2.6" (instance $files
        (export "descriptor" (type $d (sub resource)))
        (type $code (enum "access" "would-block" "already" "bad-descriptor" "busy" "deadlock" "quota" "exist"
            "file-too-large" "illegal-byte-sequence" "in-progress" "interrupted" "invalid" "io" "is-directory" "loop"
            "too-many-links" "message-size" "name-too-long" "no-device" "no-entry" "no-lock" "insufficient-memory"
            "insufficient-space" "not-directory" "not-empty" "not-recoverable" "unsupported" "no-tty" "no-such-device"
            "overflow" "not-permitted" "pipe" "read-only" "invalid-seek" "text-file-busy" "cross-device"))
        (export "error-code" (type $error-code (eq $code)))
        (export "[method]descriptor.create-directory-at"
            (func (param "self" (borrow $d)) (param "path" string) (result (result (error $error-code)))))))
    (alias export $files "descriptor" (type $descriptor))"#;

/// `wasi:filesystem/preopens.get-directories`.
pub const DIRECTORIES: Import = Import {
    interfaces: &[
        FILES,
        r#"(import "wasi:filesystem/preopens@0.2.6" (instance $preopens
        (alias outer 1 $descriptor (type $d))
        (export "descriptor" (type $d2 (eq $d)))
        (export "get-directories" (func (result (list (tuple (own $d2) string)))))))"#,
    ],
    function: r#"$preopens "get-directories""#,
    name: "directories",
    signature: "(param i32)",
};

/// `wasi:filesystem/types` `descriptor.create-directory-at`.
pub const MAKE_DIR: Import = Import {
    interfaces: &[FILES],
    function: r#"$files "[method]descriptor.create-directory-at""#,
    name: "make-dir",
    signature: "(param i32 i32 i32 i32)",
};

/// Not a host function: makes a resource of the component's own type, so that no host function sees
/// it.
pub const NEW_OWN: Import = Import {
    interfaces: &["(type $own (resource (rep i32)))"],
    function: "resource.new $own",
    name: "new-own",
    signature: "(param i32) (result i32)",
};
