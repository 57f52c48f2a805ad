;; Merges what is no object into the shared state.
(import "host" "merge" (func $merge (param i32 i32)))
(data (i32.const 1024) "[1e999]")
(func (export "call") (type $call)
    (call $merge (i32.const 1024) (i32.const 7))
    unreachable)
