;; Takes all the memory that it gets and writes to every page of it.
(func (export "call") (type $call)
    (local $at i32)
    (loop $again
        (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (loop $next
        (i32.store8 (local.get $at) (i32.const 1))
        (local.set $at (i32.add (local.get $at) (i32.const 4096)))
        (br_if $next (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536)))))
    unreachable)
