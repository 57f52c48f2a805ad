;; Returns bytes that are no UTF-8.
(component
  (core module $code
    (memory (export "memory") 1)
    (data (i32.const 0) "\10\00\00\00\04\00\00\00")
    (data (i32.const 16) "\ff\fe\c0\80")
    (func (export "run") (result i32)
      (i32.const 0)))
  (core instance $code (instantiate $code))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $code "memory")))))
