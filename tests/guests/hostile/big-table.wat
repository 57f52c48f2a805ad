;; Begins with a table of 15,000 elements.
(table 15000 funcref)
