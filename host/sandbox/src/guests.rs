//! Makes small tool components from WebAssembly text, for tests and for the benchmark: a guest is the body of its `call`, with
//! whatever else it needs. The layout of values in memory follows the canonical ABI of the component model.

/// Where a guest's prepared values begin in its memory. Below is scratch space that a guest's code may write to.
const IMAGE: u32 = 4_096;

/// A host function that a guest can import: its component-level import, and its lowered form.
pub(crate) struct Import {
    /// What is imported, as component text.
    component: &'static str,
    /// The path of the function for `canon lower`.
    function: &'static str,
    /// The name by which the guest's code calls it, `$NAME`.
    name: &'static str,
    /// Its core parameters and results.
    signature: &'static str,
}

pub(crate) const PROGRESS: Import = Import {
    component: r#"(import "agent:tool/progress@0.1.0" (instance $progress
        (export "report" (func (param "message" string) (param "fraction" (option f64))))))"#,
    function: r#"$progress "report""#,
    name: "report",
    signature: "(param i32 i32 i32 f64)",
};

pub(crate) const STATE_GET: Import = Import {
    component: r#"(import "agent:tool/state@0.1.0" (instance $state
        (export "get" (func (result string)))
        (export "merge" (func (param "delta" string)))))"#,
    function: r#"$state "get""#,
    name: "get",
    signature: "(param i32)",
};

/// To be used with [`STATE_GET`], which imports the interface.
pub(crate) const STATE_MERGE: Import = Import {
    component: "",
    function: r#"$state "merge""#,
    name: "merge",
    signature: "(param i32 i32)",
};

pub(crate) const ASK: Import = Import {
    component: r#"(import "agent:tool/human@0.1.0" (instance $human
        (type $q (record (field "prompt" string) (field "choices" (list string)) (field "free-text" bool)))
        (export "question" (type $question (eq $q)))
        (type $a (variant (case "text" string) (case "choice" u32) (case "cancelled") (case "unavailable")))
        (export "answer" (type $answer (eq $a)))
        (export "ask" (func (param "question" $question) (result $answer)))))"#,
    function: r#"$human "ask""#,
    name: "ask",
    signature: "(param i32 i32 i32 i32 i32 i32)",
};

pub(crate) const EXIT: Import = Import {
    component: r#"(import "wasi:cli/exit@0.2.6" (instance $exit
        (export "exit" (func (param "status" (result))))))"#,
    function: r#"$exit "exit""#,
    name: "exit",
    signature: "(param i32)",
};

pub(crate) const RANDOM: Import = Import {
    component: r#"(import "wasi:random/random@0.2.6" (instance $random
        (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))"#,
    function: r#"$random "get-random-bytes""#,
    name: "random",
    signature: "(param i64 i32)",
};

pub(crate) const CWD: Import = Import {
    component: r#"(import "wasi:cli/environment@0.2.6" (instance $environment
        (export "initial-cwd" (func (result (option string))))))"#,
    function: r#"$environment "initial-cwd""#,
    name: "cwd",
    signature: "(param i32)",
};

const POLL: &str = r#"(import "wasi:io/poll@0.2.6" (instance $poll
        (export "pollable" (type $p (sub resource)))
        (export "[method]pollable.block" (func (param "self" (borrow $p))))))
    (alias export $poll "pollable" (type $pollable))"#;

pub(crate) const BLOCK: Import = Import {
    component: POLL,
    function: r#"$poll "[method]pollable.block""#,
    name: "block",
    signature: "(param i32)",
};

/// To be used with [`BLOCK`], which imports the pollable.
pub(crate) const TIMER: Import = Import {
    component: r#"(import "wasi:clocks/monotonic-clock@0.2.6" (instance $clock
        (alias outer 1 $pollable (type $p))
        (export "pollable" (type $p2 (eq $p)))
        (export "subscribe-duration" (func (param "when" u64) (result (own $p2))))))"#,
    function: r#"$clock "subscribe-duration""#,
    name: "timer",
    signature: "(param i64) (result i32)",
};

const STREAMS: &str = r#"(import "wasi:io/error@0.2.6" (instance $io-error (export "error" (type (sub resource)))))
    (alias export $io-error "error" (type $error))
    (import "wasi:io/streams@0.2.6" (instance $streams
        (alias outer 1 $error (type $e))
        (export "error" (type $e2 (eq $e)))
        (export "output-stream" (type $os (sub resource)))
        (type $se (variant (case "last-operation-failed" (own $e2)) (case "closed")))
        (export "stream-error" (type $se2 (eq $se)))
        (export "[method]output-stream.blocking-write-and-flush"
            (func (param "self" (borrow $os)) (param "contents" (list u8)) (result (result (error $se2)))))))
    (alias export $streams "output-stream" (type $output-stream))"#;

pub(crate) const WRITE: Import = Import {
    component: STREAMS,
    function: r#"$streams "[method]output-stream.blocking-write-and-flush""#,
    name: "write",
    signature: "(param i32 i32 i32 i32)",
};

/// To be used with [`WRITE`], which imports the stream.
pub(crate) const STDOUT: Import = Import {
    component: r#"(import "wasi:cli/stdout@0.2.6" (instance $stdout
        (alias outer 1 $output-stream (type $os))
        (export "output-stream" (type $os2 (eq $os)))
        (export "get-stdout" (func (result (own $os2))))))"#,
    function: r#"$stdout "get-stdout""#,
    name: "stdout",
    signature: "(result i32)",
};

/// What a guest says of a tool.
#[derive(Clone)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input_schema: String,
    pub(crate) output_schema: Option<String>,
    /// 0 read-only, 1 idempotent, 2 effectful.
    pub(crate) effect: u8,
}

impl Default for Definition {
    fn default() -> Self {
        Self {
            name: "echo".to_owned(),
            title: None,
            description: "Returns its arguments.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            effect: 0,
        }
    }
}

/// Values laid out in a guest's memory.
#[derive(Default)]
struct Image(Vec<u8>);

impl Image {
    /// Adds bytes at an aligned address, and gives the address.
    fn add(&mut self, bytes: &[u8]) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let address = IMAGE + u32::try_from(self.0.len()).unwrap();
        self.0.extend_from_slice(bytes);
        address
    }

    /// A string or a list of bytes: where it is and how long.
    fn string(&mut self, bytes: &[u8]) -> [u32; 2] {
        [self.add(bytes), u32::try_from(bytes.len()).unwrap()]
    }

    fn optional(&mut self, text: Option<&str>) -> [u32; 3] {
        match text {
            None => [0; 3],
            Some(text) => {
                let [address, length] = self.string(text.as_bytes());
                [1, address, length]
            }
        }
    }

    fn words(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.add(&bytes)
    }

    fn definitions(&mut self, definitions: &[Definition]) -> u32 {
        let mut records = Vec::new();
        for definition in definitions {
            records.extend(self.string(definition.name.as_bytes()));
            records.extend(self.optional(definition.title.as_deref()));
            records.extend(self.string(definition.description.as_bytes()));
            records.extend(self.string(definition.input_schema.as_bytes()));
            records.extend(self.optional(definition.output_schema.as_deref()));
            records.push(u32::from(definition.effect));
        }
        let list = self.words(&records);
        self.words(&[list, u32::try_from(definitions.len()).unwrap()])
    }
}

/// What a guest returns, or how it comes to it.
pub(crate) enum Body<'a> {
    /// A variant with a string: 0 text, 1 json, 3 error-text, 4 error-json.
    Text(u32, &'a [u8]),
    /// `execution-denied`.
    Denied(Option<&'a str>),
    /// `content` with one text part and one file part with these bytes.
    Content(&'a str, &'a str, &'a [u8]),
    /// Code that leaves the address of the result.
    Code(&'a str),
}

/// Code that returns the arguments as JSON.
pub(crate) const ECHO: &str = "(i32.store (i32.const 16) (i32.const 1))
    (i32.store (i32.const 20) (local.get $input))
    (i32.store (i32.const 24) (local.get $input-len))
    (i32.const 16)";

/// A guest under construction.
pub(crate) struct Guest<'a> {
    pub(crate) body: Body<'a>,
    pub(crate) definitions: Vec<Definition>,
    /// Code that leaves the address of the list of definitions; absent for the list above.
    pub(crate) definitions_code: Option<&'a str>,
    pub(crate) imports: &'a [Import],
    /// Further items of the guest's core module.
    pub(crate) core: &'a str,
    /// Further items of the component, in front of all others.
    pub(crate) component: &'a str,
    /// The name under which the tool is exported.
    pub(crate) export: &'a str,
    /// The pages of its memory at the start.
    pub(crate) pages: u32,
}

impl Default for Guest<'_> {
    fn default() -> Self {
        Self {
            body: Body::Code(ECHO),
            definitions: vec![Definition::default()],
            definitions_code: None,
            imports: &[],
            core: "",
            component: "",
            export: "agent:tool/tool@0.1.0",
            pages: 4,
        }
    }
}

impl<'a> Guest<'a> {
    /// A guest whose `call` runs this code.
    pub(crate) fn running(code: &'a str) -> Self {
        Self {
            body: Body::Code(code),
            ..Self::default()
        }
    }

    /// A guest that returns this.
    pub(crate) fn returning(body: Body<'a>) -> Self {
        Self {
            body,
            ..Self::default()
        }
    }

    /// The component.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        wat::parse_str(self.text()).unwrap()
    }

    fn text(&self) -> String {
        let mut image = Image::default();
        let listed = image.definitions(&self.definitions);
        let definitions = match self.definitions_code {
            Some(code) => code.to_owned(),
            None => format!("(i32.const {listed})"),
        };
        let call = self.call(&mut image);
        let data: String = image.0.iter().map(|byte| format!("\\{byte:02x}")).collect();
        let heap = (IMAGE as usize + image.0.len()).next_multiple_of(16);
        let pages = self.pages;
        let base = format!(
            r#"(core module $base-module
    (memory (export "memory") {pages})
    (global $next (mut i32) (i32.const {heap}))
    (data (i32.const {IMAGE}) "{data}")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
        (global.set $next (i32.add (local.get $at) (local.get 3)))
        (block $fits
            (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
            (br_if $fits (i32.ne (i32.const -1) (memory.grow
                (i32.add (i32.const 1) (i32.shr_u (local.get 3) (i32.const 16))))))
            unreachable)
        (local.get $at)))"#
        );
        self.assemble(&base, &definitions, &call)
    }

    /// The code of `call`.
    fn call(&self, image: &mut Image) -> String {
        let address = match self.body {
            Body::Code(code) => return code.to_owned(),
            Body::Text(variant, text) => {
                let [address, length] = image.string(text);
                image.words(&[variant, address, length, 0])
            }
            Body::Denied(reason) => {
                let [some, address, length] = image.optional(reason);
                image.words(&[5, some, address, length])
            }
            Body::Content(text, media_type, bytes) => {
                let [text, text_len] = image.string(text.as_bytes());
                let [media, media_len] = image.string(media_type.as_bytes());
                let [data, data_len] = image.string(bytes);
                let parts = [
                    // A text part, filled up to the size of a file part.
                    [0, text, text_len, 0, 0, 0, 0, 0, 0],
                    [1, media, media_len, 0, data, data_len, 0, 0, 0],
                ];
                let list = image.words(parts.as_flattened());
                image.words(&[2, list, 2, 0])
            }
        };
        format!("(i32.const {address})")
    }

    fn assemble(&self, base: &str, definitions: &str, call: &str) -> String {
        let join = |part: &dyn Fn(&Import) -> String| -> String {
            self.imports
                .iter()
                .map(part)
                .collect::<Vec<_>>()
                .join("\n    ")
        };
        let imports = join(&|import| import.component.to_owned());
        let lowered = join(&|import| {
            format!(
                r#"(core func ${} (canon lower (func {}) (memory (core memory $base "memory")) (realloc (core func $base "realloc"))))"#,
                import.name, import.function
            )
        });
        let core_imports = join(&|import| {
            format!(
                r#"(import "host" "{0}" (func ${0} {1}))"#,
                import.name, import.signature
            )
        });
        let host = join(&|import| format!(r#"(export "{0}" (func ${0}))"#, import.name));
        let (component, core, export) = (self.component, self.core, self.export);
        format!(
            r#"(component
    {component}
    {TYPES}
    {imports}
    {base}
    (core instance $base (instantiate $base-module))
    {lowered}
    (core module $main-module
    (import "base" "memory" (memory 1))
    {core_imports}
    {core}
    (func (export "definitions") (result i32)
    {definitions})
    (func (export "call")
        (param $id i32) (param $id-len i32) (param $name i32) (param $name-len i32)
        (param $input i32) (param $input-len i32) (param $key i32) (param $key-len i32)
        (result i32)
    {call}))
    (core instance $main (instantiate $main-module
        (with "base" (instance $base))
        (with "host" (instance {host}))))
    (func $definitions (result (list $tool-definition))
        (canon lift (core func $main "definitions") (memory (core memory $base "memory"))))
    (func $call (param "call" $tool-call) (result $tool-result-output)
        (canon lift (core func $main "call") (memory (core memory $base "memory")) (realloc (core func $base "realloc"))))
    (instance $tool (export "definitions" (func $definitions)) (export "call" (func $call)))
    (export "{export}" (instance $tool)))"#
        )
    }
}

/// The types of the contract, as `wit/types.wit` has them.
const TYPES: &str = r#"(import "agent:tool/types@0.1.0" (instance $types
        (type $d1 (variant (case "bytes" (list u8)) (case "url" string) (case "text" string)))
        (export "file-data" (type $file-data (eq $d1)))
        (type $d2 (record (field "media-type" string) (field "data" $file-data) (field "filename" (option string))))
        (export "file-part" (type $file-part (eq $d2)))
        (type $d3 (variant (case "text" string) (case "file" $file-part)))
        (export "content-part" (type $content-part (eq $d3)))
        (type $d4 (variant (case "text" string) (case "json" string) (case "content" (list $content-part))
            (case "error-text" string) (case "error-json" string) (case "execution-denied" (option string))))
        (export "tool-result-output" (type $output (eq $d4)))
        (type $d5 (enum "read-only" "idempotent" "effectful"))
        (export "effect" (type $effect (eq $d5)))
        (type $d6 (record (field "name" string) (field "title" (option string)) (field "description" string)
            (field "input-schema" string) (field "output-schema" (option string)) (field "effect" $effect)))
        (export "tool-definition" (type $definition (eq $d6)))
        (type $d7 (record (field "id" string) (field "name" string) (field "input" string) (field "idempotency-key" string)))
        (export "tool-call" (type $call (eq $d7)))))
    (alias export $types "tool-definition" (type $tool-definition))
    (alias export $types "tool-call" (type $tool-call))
    (alias export $types "tool-result-output" (type $tool-result-output))"#;
