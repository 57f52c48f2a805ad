;; Exports the tool of another version.
(component
    (instance $tool)
    (export "agent:tool/tool@0.9.0" (instance $tool)))
