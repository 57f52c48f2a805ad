;; Crashes when it is asked for its definitions.
(func (export "definitions") (result i32)
    unreachable)
