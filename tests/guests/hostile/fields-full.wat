;; Fills one set of HTTP headers without end, 32,000 bytes at a time.
(import "host" "fields" (func $fields (result i32)))
(import "host" "append" (func $append (param i32 i32 i32 i32 i32 i32)))
(data (i32.const 1024) "x-name")
(func (export "call") (type $call)
    (local $f i32)
    (local.set $f (call $fields))
    (memory.fill (i32.const 65536) (i32.const 97) (i32.const 32000))
    (loop $again
        (call $append (local.get $f) (i32.const 1024) (i32.const 6) (i32.const 65536) (i32.const 32000) (i32.const 16))
        (br $again))
    unreachable)
