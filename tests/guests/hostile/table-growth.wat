;; Grows a table by one element at a time until it gets no more, and then gives up.
(table $t 1 funcref)
(func (export "call") (type $call)
    (loop $again
        (br_if $again (i32.ne (table.grow $t (ref.null func) (i32.const 1)) (i32.const -1))))
    unreachable)
