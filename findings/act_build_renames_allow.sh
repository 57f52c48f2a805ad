#!/usr/bin/env bash
# act-build 0.14.6 packs a component whose `act.toml` declares the hosts that it asks for.
#
# Guess: the section `act:component` has the keys of `act.toml`, which are those of the specification
# of act:core 0.4.0: a capability has a list `allow`. A host denies a capability without that list.
# Behaviour: `allow` is read and written as `constraints`, so a host that follows the specification
# finds a capability without entries. A list under any other key is dropped, without a message.
# Seen, the keys of the capability in the section, by the key in `act.toml`:
#   allow: constraints
#   constraints: constraints
#   alow: none
#
# Needs Python 3. Fails if the behaviour changes.
set -euo pipefail
self=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check act-build==0.14.6 cbor2==5.7.1
for key in allow constraints alow; do
    # The smallest component: one without anything in it.
    printf '\0asm\r\0\1\0' > component.wasm
    cat > act.toml <<TOML
[std]
name = "seen"
version = "0.1.0"
description = "Asks for one host"
[std.capabilities."wasi:http"]
$key = [{ host = "api.example.com" }]
TOML
    venv/bin/act-build pack component.wasm > pack.txt 2>&1
    venv/bin/python - "$key" >> seen.txt << 'PY'
import sys

import cbor2

packed = open("component.wasm", "rb").read()
name = b"act:component"
section = packed[packed.index(name) + len(name) :]
# What follows the section is not read.
declared = cbor2.loads(section)
keys = declared["std"]["capabilities"]["wasi:http"]
print(f"{sys.argv[1]}: {', '.join(keys) or 'none'}")
PY
done
cat seen.txt
# What is seen is what the head of this file says.
sed -n 's/^#   //p' "$self" | diff - seen.txt
