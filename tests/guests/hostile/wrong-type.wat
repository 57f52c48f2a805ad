;; Wants a function that there is, with another type.
(component
    (import "wasi:random/random@0.2.0" (instance (export "get-random-u64" (func (result string))))))
