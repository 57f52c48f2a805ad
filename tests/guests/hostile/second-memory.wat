;; Begins with a second memory of 12.5 MiB.
(memory $big 200)
