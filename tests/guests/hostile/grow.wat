;; Grows its memory a page at a time until it gets no more, and then gives up.
(func (export "call") (type $call)
    (loop $again
        (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    unreachable)
