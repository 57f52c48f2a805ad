;; Exports the right name, with nothing in it.
(component
    (instance $tool)
    (export "agent:tool/tool@0.1.0" (instance $tool)))
