;; Reports its progress with a message that is not in its memory.
(import "host" "report" (func $report (param i32 i32 i32 f64)))
(func (export "call") (type $call)
    (call $report (i32.const -16) (i32.const 64) (i32.const 0) (f64.const 0))
    unreachable)
