;; Asks for more memory than 32 bits can address.
(func (export "call") (type $call)
    (drop (memory.grow (i32.const -1)))
    unreachable)
