;; Returns a string of 512 MiB.
(component
  (core module $code
    (memory (export "memory") 8193)
    (func (export "run") (result i32)
      (memory.fill (i32.const 65536) (i32.const 0x61) (i32.const 536870912))
      (i32.store (i32.const 0) (i32.const 65536))
      (i32.store (i32.const 4) (i32.const 536870912))
      (i32.const 0)))
  (core instance $code (instantiate $code))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $code "memory")))))
