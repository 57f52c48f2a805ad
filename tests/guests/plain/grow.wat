;; Takes memory, page by page and every page written to, until there is none; then it keeps asking.
(component
  (core module $code
    (memory (export "memory") 1)
    (func (export "run") (result i32)
      (local $page i32)
      (loop $for-ever
        (local.set $page (memory.grow (i32.const 1)))
        (if (i32.ne (local.get $page) (i32.const -1))
          (then (i32.store (i32.shl (local.get $page) (i32.const 16)) (i32.const 1))))
        (br $for-ever))
      (i32.const 0)))
  (core instance $code (instantiate $code))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $code "memory")))))
