;; Puts 32,000 bytes into HTTP headers and clones them without end.
(import "host" "fields" (func $fields (result i32)))
(import "host" "append" (func $append (param i32 i32 i32 i32 i32 i32)))
(import "host" "clone" (func $clone (param i32) (result i32)))
(data (i32.const 1024) "x-name")
(func (export "call") (type $call)
    (local $f i32)
    (local.set $f (call $fields))
    (memory.fill (i32.const 65536) (i32.const 97) (i32.const 32000))
    (call $append (local.get $f) (i32.const 1024) (i32.const 6) (i32.const 65536) (i32.const 32000) (i32.const 16))
    (loop $again
        (drop (call $clone (local.get $f)))
        (br $again))
    unreachable)
