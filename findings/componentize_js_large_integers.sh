#!/usr/bin/env bash
# @bytecodealliance/componentize-js 0.23.0: functions of a world with 32-bit and 64-bit integers.
#
# Guess: a number in the range of its WIT type reaches the caller as the function returned it, and the
# function as the caller gave it, wherever in a type it stands.
# Behaviour: a `u32` that a function returns directly is another number from 2147483648 on; within
# `option` it is right. A negative `s64` parameter arrives as the number of the same bits without a
# sign; within a list it is right. Nothing fails, so that only a comparison of values shows it.
# Seen, the value that was meant and the one that came:
#   u32 result: 2147483647 2147483647
#   u32 result: 2147483648 0
#   u32 result: 4294967295 4292870144
#   option<u32> result: 4294967295 4294967295
#   s64 parameter: -1 18446744073709551615
#   list<s64> parameter: -1 -1
#
# Needs Node.js and npm. Fails if the behaviour changes.
set -euo pipefail
self=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"type": "module"}' > package.json
npm install --silent --no-audit --no-fund @bytecodealliance/componentize-js@0.23.0 @bytecodealliance/jco@1.35.0
cat > world.wit <<'WIT'
package try:integers;
world integers {
  export below: func() -> u32;
  export half: func() -> u32;
  export largest: func() -> u32;
  export maybe: func() -> option<u32>;
  export one: func(n: s64) -> string;
  export some: func(n: list<s64>) -> string;
}
WIT
cat > guest.js <<'JS'
export const below = () => 2147483647
export const half = () => 2147483648
export const largest = () => 4294967295
export const maybe = () => 4294967295
export const one = (n) => `${n}`
export const some = (n) => n.join()
JS
cat > build.mjs <<'JS'
import { componentize } from '@bytecodealliance/componentize-js'
import { readFile, writeFile } from 'node:fs/promises'
const options = { witPath: 'world.wit', worldName: 'integers', disableFeatures: ['clocks', 'random', 'http', 'fetch-event', 'stdio'] }
const { component } = await componentize(await readFile('guest.js', 'utf8'), options)
await writeFile('guest.wasm', component)
JS
cat > call.mjs <<'JS'
import { below, half, largest, maybe, one, some } from './out/guest.js'
console.log('u32 result: 2147483647', below())
console.log('u32 result: 2147483648', half())
console.log('u32 result: 4294967295', largest())
console.log('option<u32> result: 4294967295', maybe())
console.log('s64 parameter: -1', one(-1n))
console.log('list<s64> parameter: -1', some(BigInt64Array.of(-1n)))
JS
node build.mjs > /dev/null
npx --no-install jco transpile guest.wasm -o out --quiet > /dev/null
seen=$(node call.mjs)
echo "$seen"
diff <(sed -n 's/^#   //p' "$self") <(echo "$seen")
