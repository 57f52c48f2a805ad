#!/usr/bin/env bash
# wit-bindgen-cli 0.63.0, `wit-bindgen c`, for a world that imports one interface, and for the same
# world after it imports another interface, from a later version of the first one's package.
#
# Guess: the functions of an import are named after its package, so code for the first import goes
# on compiling and linking when the second is added beside it.
# Behaviour: with two versions of a package in the world, the names of both get their versions: each
# function and type of the first import is renamed, and code that calls it no longer links. What has
# to be touched is not the import that was added. componentize-py 0.25.1 renames nothing.
# Seen, the declaration of the first import's function:
#   one version:  extern void my_types_log_write(app_string_t *text);
#   two versions: extern void my_types_0_1_0_log_write(app_string_t *text);
# Seen, the module of the first import in Python: wit_world/imports/log.py in both.
#
# Needs cargo and Python 3. Fails if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cargo install --quiet --debug --locked --root tools --no-default-features --features c wit-bindgen-cli@0.63.0
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check componentize-py==0.25.1

for world in one two; do
    mkdir -p "$world/deps/types-1" "$world/deps/types-2"
    cat > "$world/deps/types-1/log.wit" << 'WIT'
package my:types@0.1.0;
interface log { write: func(text: string); }
WIT
    cat > "$world/deps/types-2/trace.wit" << 'WIT'
package my:types@0.2.0;
interface trace { begin: func(name: string); }
WIT
done
rm -r one/deps/types-2
cat > one/app.wit << 'WIT'
package my:app;
world app { import my:types/log@0.1.0; }
WIT
cat > two/app.wit << 'WIT'
package my:app;
world app { import my:types/log@0.1.0; import my:types/trace@0.2.0; }
WIT

for world in one two; do
    tools/bin/wit-bindgen c "$world" --out-dir "c-$world" > bindgen.txt 2>&1
    grep 'write(' "c-$world/app.h"
    venv/bin/componentize-py -d "$world" -w app bindings "py-$world" > bindings.txt
    (cd "py-$world" && find wit_world/imports -name 'log*.py')
done > seen.txt

diff - seen.txt << 'SEEN' || { echo 'the behaviour changed' >&2; exit 1; }
extern void my_types_log_write(app_string_t *text);
wit_world/imports/log.py
extern void my_types_0_1_0_log_write(app_string_t *text);
wit_world/imports/log.py
SEEN
echo 'as described'
