;; Begins with eight tables.
(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
(table 1 funcref) (table 1 funcref) (table 1 funcref) (table 1 funcref)
