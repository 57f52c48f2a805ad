;; Gives the host the same place for everything.
(func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (i32.const 1024))
(func (export "call") (type $call)
    (i32.store (i32.const 2048) (i32.const 0))
    (i32.store (i32.const 2056) (i32.const 0))
    (i32.const 2048))
