;; Reads its stdin, where nothing ever comes, and asks for 2^62 bytes of it.
(import "host" "stdin" (func $stdin (result i32)))
(import "host" "read" (func $read (param i32 i64 i32)))
(func (export "call") (type $call)
    (call $read (call $stdin) (i64.const 0x4000000000000000) (i32.const 32))
    ;; 0 is `ok`, 1 is `err`; in the second 1 is `closed`.
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 48))
    (i32.store8 (i32.const 48) (i32.add (i32.const 0x30) (i32.load8_u (i32.const 32))))
    (i32.store8 (i32.const 49) (i32.add (i32.const 0x30) (i32.load8_u (i32.const 36))))
    (i32.store (i32.const 24) (i32.const 2))
    (i32.const 16))
