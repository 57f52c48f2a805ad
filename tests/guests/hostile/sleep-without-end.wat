;; Waits for the longest time that there is, by 400 timers at once.
(import "host" "timer" (func $timer (param i64) (result i32)))
(import "host" "poll" (func $poll (param i32 i32 i32)))
(func (export "call") (type $call)
    (local $i i32)
    (loop $again
        (i32.store (i32.add (i32.const 65536) (i32.mul (local.get $i) (i32.const 4)))
            (call $timer (i64.const -1)))
        (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 400))))
    (call $poll (i32.const 65536) (i32.const 400) (i32.const 16))
    unreachable)
