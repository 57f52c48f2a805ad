;; Returns a string that begins in memory and ends 4 GiB later.
(component
  (core module $code
    (memory (export "memory") 1)
    (data (i32.const 0) "\10\00\00\00\ff\ff\ff\ff")
    (func (export "run") (result i32)
      (i32.const 0)))
  (core instance $code (instantiate $code))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $code "memory")))))
