;; Merges two million bytes into the shared state.
(import "host" "merge" (func $merge (param i32 i32)))
(func (export "call") (type $call)
    (drop (memory.grow (i32.const 32)))
    (call $merge (i32.const 65536) (i32.const 2000000))
    unreachable)
