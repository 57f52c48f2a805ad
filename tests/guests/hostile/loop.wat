;; Computes without end.
(func (export "call") (type $call)
    (loop $again (br $again))
    unreachable)
