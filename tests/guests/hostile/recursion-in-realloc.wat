;; Recurses without end when the host asks for room for the arguments.
(func $deeper (param i64 i64 i64 i64 i32) (result i32)
    (i32.add (i32.const 1)
        (call $deeper (local.get 1) (local.get 2) (local.get 3) (local.get 0) (local.get 4))))
(func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (call $deeper (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i32.const 5)))
