;; Says that it has 2^32 - 1 definitions.
(func (export "definitions") (result i32)
    (i32.store (i32.const 16) (i32.const 64))
    (i32.store (i32.const 20) (i32.const -1))
    (i32.const 16))
