;; Wants a bare function from the host.
(component (import "log" (func (param "text" string))))
