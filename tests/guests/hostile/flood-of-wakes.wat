;; Waits for timers of a nanosecond without end, and gives each back.
(import "host" "timer" (func $timer (param i64) (result i32)))
(import "host" "block" (func $block (param i32)))
(import "host" "drop-pollable" (func $drop (param i32)))
(func (export "call") (type $call)
    (local $t i32)
    (loop $again
        (call $block (local.tee $t (call $timer (i64.const 1))))
        (call $drop (local.get $t))
        (br $again))
    unreachable)
