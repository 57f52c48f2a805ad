;; Grows four memories in turn, so that each alone stays far below what one call may have.
(memory $a 1) (memory $b 1) (memory $c 1)
(func (export "call") (type $call)
    (loop $again
        (br_if $again
            (i32.and
                (i32.and (i32.ne (memory.grow (i32.const 1)) (i32.const -1))
                    (i32.ne (memory.grow $a (i32.const 1)) (i32.const -1)))
                (i32.and (i32.ne (memory.grow $b (i32.const 1)) (i32.const -1))
                    (i32.ne (memory.grow $c (i32.const 1)) (i32.const -1))))))
    unreachable)
