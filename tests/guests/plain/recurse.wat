;; Calls itself for ever.
(component
  (core module $code
    (memory (export "memory") 1)
    (func $run (export "run") (result i32)
      (i32.add (call $run) (i32.const 1))))
  (core instance $code (instantiate $code))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $code "memory")))))
