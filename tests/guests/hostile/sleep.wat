;; Waits ten minutes inside the host.
(import "host" "timer" (func $timer (param i64) (result i32)))
(import "host" "block" (func $block (param i32)))
(func (export "call") (type $call)
    (call $block (call $timer (i64.const 600_000_000_000)))
    unreachable)
