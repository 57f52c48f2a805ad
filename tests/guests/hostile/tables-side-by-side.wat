;; Grows four tables as far as each goes.
(table $a 1 funcref) (table $b 1 funcref) (table $c 1 funcref) (table $d 1 funcref)
(func (export "call") (type $call)
    (loop $again
        (br_if $again (i32.ne (table.grow $a (ref.null func) (i32.const 1000)) (i32.const -1))))
    (loop $again
        (br_if $again (i32.ne (table.grow $b (ref.null func) (i32.const 1000)) (i32.const -1))))
    (loop $again
        (br_if $again (i32.ne (table.grow $c (ref.null func) (i32.const 1000)) (i32.const -1))))
    (loop $again
        (br_if $again (i32.ne (table.grow $d (ref.null func) (i32.const 1000)) (i32.const -1))))
    unreachable)
