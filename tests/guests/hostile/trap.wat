;; Crashes.
(func (export "call") (type $call)
    unreachable)
