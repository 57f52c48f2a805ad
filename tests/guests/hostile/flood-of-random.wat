;; Asks for a million random bytes again and again; each answer takes room in its memory.
(import "host" "random" (func $random (param i64 i32)))
(func (export "call") (type $call)
    (loop $again
        (call $random (i64.const 1000000) (i32.const 16))
        (br $again))
    unreachable)
