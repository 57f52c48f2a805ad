;; Takes all memory that it gets when it is asked for its definitions.
(func (export "definitions") (result i32)
    (loop $again
        (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    unreachable)
