;; Returns a text of two million zero bytes.
(func (export "call") (type $call)
    (drop (memory.grow (i32.const 32)))
    (i32.store (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (i32.const 65536))
    (i32.store (i32.const 24) (i32.const 2000000))
    (i32.const 16))
