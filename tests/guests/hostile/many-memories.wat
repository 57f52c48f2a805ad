;; Begins with eight memories of 1.5 MiB each.
(memory 24) (memory 24) (memory 24) (memory 24) (memory 24) (memory 24) (memory 24) (memory 24)
