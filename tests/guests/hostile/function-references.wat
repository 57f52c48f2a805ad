;; Needs typed references to functions.
(component (core module (type $f (func)) (func (param (ref $f)) (call_ref $f (local.get 0)))))
