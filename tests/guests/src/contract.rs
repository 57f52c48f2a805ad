//! The contract as component text.

/// The types of the contract, matching `wit/types.wit`.
pub(crate) const TYPES: &str = r#"(import "agent:tool/types@0.1.0" (instance $types
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

/// A component that exports functions with the names of their types, as toolchains do, so that a
/// filter can import them.
pub(crate) fn exports() -> String {
    format!(
        r#"(component $exports
    {TYPES}
    (import "run-definitions" (func $definitions (result (list $tool-definition))))
    (import "run-call" (func $call (param "call" $tool-call) (result $tool-result-output)))
    (export $d "tool-definition" (type $tool-definition))
    (export $c "tool-call" (type $tool-call))
    (export $o "tool-result-output" (type $tool-result-output))
    (export "definitions" (func $definitions) (func (result (list $d))))
    (export "call" (func $call) (func (param "call" $c) (result $o))))"#
    )
}
