;; Wants an interface of our package that there is not.
(component
    (import "agent:tool/secrets@0.1.0" (instance (export "reveal" (func (result string))))))
