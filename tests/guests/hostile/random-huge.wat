;; Asks for 2^40 random bytes.
(import "host" "random" (func $random (param i64 i32)))
(func (export "call") (type $call)
    (call $random (i64.const 0x10000000000) (i32.const 16))
    unreachable)
