;; Reports its progress with a message of two million bytes.
(import "host" "report" (func $report (param i32 i32 i32 f64)))
(func (export "call") (type $call)
    (drop (memory.grow (i32.const 32)))
    (call $report (i32.const 65536) (i32.const 2000000) (i32.const 0) (f64.const 0))
    unreachable)
