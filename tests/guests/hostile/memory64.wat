;; Needs addresses of 64 bits.
(component (core module (memory i64 1)))
