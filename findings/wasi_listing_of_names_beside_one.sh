#!/usr/bin/env bash
# wasmtime 50.0.1 (its package for Python), WASI 0.1 on Linux: `fd_readdir` of a directory in which one
# of the names is not UTF-8, as Linux allows.
#
# Guess: the guest is given the other names; the one that WASI's texts cannot hold is left out, or
# written in another way, or reported when the guest opens it.
# Behaviour: the call fails with errno 25 (EILSEQ) and gives no name at all, not even those before it,
# wherever the guest has the listing begin. One such file, which an archive of another program may
# bring, makes a directory look unreadable to every guest, while the files can still be opened.
# Seen, errno and names, then errno for each place from which the listing is asked for:
#   a, b: 0 [b'.', b'..', b'a', b'b']
#   a, b, \xff: 25 []
#   from 0, 1, 2, 3, 4: 25, 25, 25, 25, 25
#   open of a beside \xff: 0
#
# Needs Python 3 with venv. Fails if the behaviour changes.
set -euo pipefail
self=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check wasmtime==50.0.1
cat > list.py <<'PY'
import os
import tempfile

from wasmtime import Engine, Linker, Module, Store, WasiConfig

GUEST = """(module
  (import "wasi_snapshot_preview1" "fd_readdir"
    (func $readdir (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "a")
  (func (export "list") (param i64) (result i32)
    (call $readdir (i32.const 3) (i32.const 1024) (i32.const 4096) (local.get 0) (i32.const 0)))
  (func (export "open") (result i32)
    (call $open (i32.const 3) (i32.const 0) (i32.const 16) (i32.const 1) (i32.const 0)
      (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 8))))"""


def guest(names, use):
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            open(os.path.join(os.fsencode(directory), name), "w").close()
        engine = Engine()
        store, linker, wasi = Store(engine), Linker(engine), WasiConfig()
        wasi.preopen_dir(directory, "/")
        store.set_wasi(wasi)
        linker.define_wasi()
        exports = linker.instantiate(store, Module(engine, GUEST)).exports(store)
        return use(store, exports)


def listing(store, exports):
    errno = exports["list"](store, 0)
    memory = bytes(exports["memory"].read(store, 0, 8192))
    end = 1024 + int.from_bytes(memory[:4], "little")
    names, at = [], 1024
    while errno == 0 and at < end:
        size = int.from_bytes(memory[at + 16 : at + 20], "little")
        names.append(memory[at + 24 : at + 24 + size])
        at += 24 + size
    return f"{errno} {sorted(names)}"


def places(store, exports):
    return ", ".join(str(exports["list"](store, place)) for place in range(5))


print("a, b:", guest([b"a", b"b"], listing))
print(r"a, b, \xff:", guest([b"a", b"b", b"\xff"], listing))
print("from 0, 1, 2, 3, 4:", guest([b"a", b"b", b"\xff"], places))
print(r"open of a beside \xff:", guest([b"a", b"\xff"], lambda store, exports: exports["open"](store)))
PY
python/bin/python list.py > seen.txt
cat seen.txt
# What is seen is what the head of this file says.
sed -n 's/^#   //p' "$self" | diff - seen.txt
