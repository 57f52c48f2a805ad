;; Ends in a trap.
(component
  (core module $code
    (memory (export "memory") 1)
    (func (export "run") (result i32)
      (unreachable)))
  (core instance $code (instantiate $code))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $code "memory")))))
