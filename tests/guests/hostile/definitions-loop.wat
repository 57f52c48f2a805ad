;; Computes without end when it is asked for its definitions.
(func (export "definitions") (result i32)
    (loop $again (br $again))
    unreachable)
