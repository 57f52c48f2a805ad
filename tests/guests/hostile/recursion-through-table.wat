;; Two functions that call each other through a table without end.
(type $f (func (param i32) (result i32)))
(table 2 2 funcref)
(elem (i32.const 0) $even $odd)
(func $even (type $f) (i32.add (i32.const 1) (call_indirect (type $f) (local.get 0) (i32.const 1))))
(func $odd (type $f) (i32.mul (i32.const 3) (call_indirect (type $f) (local.get 0) (i32.const 0))))
(func (export "call") (type $call)
    (drop (call $even (i32.const 0)))
    unreachable)
