;; Makes 100,000 timers and gives none back.
(import "host" "timer" (func $timer (param i64) (result i32)))
(func (export "call") (type $call)
    (local $i i32)
    (loop $again
        (drop (call $timer (i64.const 1)))
        (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100000))))
    unreachable)
