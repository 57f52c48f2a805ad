;; Calls itself without end.
(func $deeper (param i32) (result i32)
    (i32.add (i32.const 1) (call $deeper (local.get 0))))
(func (export "call") (type $call)
    (drop (call $deeper (i32.const 0)))
    unreachable)
