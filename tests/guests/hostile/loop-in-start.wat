;; Computes without end before anything is called, also when it is asked for its definitions.
(func $spin (loop $again (br $again)))
(start $spin)
