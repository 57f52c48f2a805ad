;; Fills 64 MiB with one instruction, without end.
(func (export "call") (type $call)
    (drop (memory.grow (i32.const 1024)))
    (loop $again
        (memory.fill (i32.const 65536) (i32.const 1) (i32.const 67108864))
        (br $again))
    unreachable)
