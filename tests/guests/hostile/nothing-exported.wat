;; A component with nothing in it.
(component)
