;; Reports fractions that are no fractions.
(import "host" "report" (func $report (param i32 i32 i32 f64)))
(func $all
    (call $report (i32.const 0) (i32.const 0) (i32.const 1) (f64.const nan))
    (call $report (i32.const 0) (i32.const 0) (i32.const 1) (f64.const -nan:0x4000000000001))
    (call $report (i32.const 0) (i32.const 0) (i32.const 1) (f64.const inf))
    (call $report (i32.const 0) (i32.const 0) (i32.const 1) (f64.const -inf))
    (call $report (i32.const 0) (i32.const 0) (i32.const 1) (f64.const -0x1p-1074)))
(func (export "call") (type $call)
    (call $all)
    (i32.store (i32.const 2048) (i32.const 0))
    (i32.store (i32.const 2056) (i32.const 0))
    (i32.const 2048))
