;; Says that its definitions are at the end of its memory, and beyond.
(func (export "definitions") (result i32)
    (i32.const -8))
