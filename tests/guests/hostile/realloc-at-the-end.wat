;; Gives the host the last byte of its memory, whatever it asks for.
(func (export "realloc") (param i32 i32 i32 i32) (result i32)
    (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1)))
(func (export "call") (type $call)
    (i32.store (i32.const 2048) (i32.const 0))
    (i32.store (i32.const 2056) (i32.const 0))
    (i32.const 2048))
