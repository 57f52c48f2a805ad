;; Needs exceptions.
(component (core module (tag)))
