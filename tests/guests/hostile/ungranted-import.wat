;; Wants an interface that this host does not have.
(component
    (import "acme:database/query@1.0.0" (instance (export "run" (func (param "sql" string))))))
