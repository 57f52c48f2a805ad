;; Computes for ever before anything was called.
(component
  (core module $code
    (memory (export "memory") 1)
    (func $start
      (loop $for-ever (br $for-ever)))
    (start $start)
    (func (export "run") (result i32)
      (i32.const 0)))
  (core instance $code (instantiate $code))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $code "memory")))))
