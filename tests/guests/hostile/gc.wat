;; Needs objects that the engine collects.
(component (core module (type (struct))))
