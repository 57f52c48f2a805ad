;; Computes for ever.
(component
  (core module $code
    (memory (export "memory") 1)
    (func (export "run") (result i32)
      (loop $for-ever (br $for-ever))
      (i32.const 0)))
  (core instance $code (instantiate $code))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $code "memory")))))
