;; Tells of its progress without end, each time with 60,000 bytes that would clear a terminal.
(import "host" "report" (func $report (param i32 i32 i32 f64)))
(func (export "call") (type $call)
    (memory.fill (i32.const 65536) (i32.const 27) (i32.const 60000))
    (loop $again
        (call $report (i32.const 65536) (i32.const 60000) (i32.const 1) (f64.const 0.5))
        (br $again))
    unreachable)
