;; Declares a number of definitions whose size in bytes wraps to zero.
(func (export "definitions") (result i32)
    (i32.store (i32.const 16) (i32.const 64))
    (i32.store (i32.const 20) (i32.const 0x10000000))
    (i32.const 16))
