;; Writes to its standard output for ever; on a server that passes it on, that is the protocol's own channel.
(component
  (import "wasi:io/error@0.2.0" (instance $io-error
    (export "error" (type (sub resource)))))
  (alias export $io-error "error" (type $error))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "output-stream" (type $output-stream (sub resource)))
    (alias outer 1 $error (type $outer-error))
    (export "error" (type $error (eq $outer-error)))
    (type $failure' (variant (case "last-operation-failed" (own $error)) (case "closed")))
    (export "stream-error" (type $failure (eq $failure')))
    (export "[method]output-stream.blocking-write-and-flush"
      (func (param "self" (borrow $output-stream)) (param "contents" (list u8)) (result (result (error $failure)))))))
  (alias export $streams "output-stream" (type $output-stream))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (alias outer 1 $output-stream (type $outer-stream))
    (export "output-stream" (type $output-stream (eq $outer-stream)))
    (export "get-stdout" (func (result (own $output-stream))))))

  (core module $memory
    (memory (export "memory") 1)
    (data (i32.const 64) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/owned\"}\n"))
  (core instance $memory (instantiate $memory))
  (core func $get-stdout (canon lower (func $stdout "get-stdout")))
  (core func $write (canon lower (func $streams "[method]output-stream.blocking-write-and-flush")
    (memory (core memory $memory "memory"))))
  (core module $code
    (import "host" "get-stdout" (func $get-stdout (result i32)))
    (import "host" "write" (func $write (param i32 i32 i32 i32)))
    (func (export "run") (result i32)
      (local $stream i32)
      (local.set $stream (call $get-stdout))
      (loop $for-ever
        (call $write (local.get $stream) (i32.const 64) (i32.const 49) (i32.const 0))
        (br $for-ever))
      (i32.const 32)))
  (core instance $code (instantiate $code
    (with "host" (instance
      (export "get-stdout" (func $get-stdout))
      (export "write" (func $write))))))
  (func (export "run") (result string)
    (canon lift (core func $code "run") (memory (core memory $memory "memory")))))
