#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2, the client, with a tool that has an output schema.
#
# Guess: a result with `isError` is handed to the caller as it is. An error seldom has the form that a
# tool promises of its successes, and the specification asks for conforming structured content of
# "servers that provide an output schema", which a reader takes as a promise about results.
# Behaviour: the client validates `structuredContent` of an error against the output schema, too, and
# throws -32602 where it does not fit. What the server said is lost: neither the model nor the user
# reads the text of the error. The client of 2.4.0 does not do that.
# Seen, one line for each release and result:
#   1 plain returned true no such directory
#   1 structured threw -32602
#   2 plain returned true no such directory
#   2 structured returned true no such directory
#
# Needs Node.js and npm. Fails if the behaviour changes.
set -euo pipefail
self=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"type": "module"}' > package.json
npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2 \
  @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/server@2.4.0
cat > try.mjs <<'JS'
const [release] = process.argv.slice(2)
const sdk = '@modelcontextprotocol/sdk'
const names = {
  1: [`${sdk}/client/index.js`, `${sdk}/server/index.js`, `${sdk}/inMemory.js`],
  2: ['@modelcontextprotocol/client', '@modelcontextprotocol/server', '@modelcontextprotocol/client'],
}[release]
const [{ Client }, { Server }, { InMemoryTransport }] = await Promise.all(names.map((name) => import(name)))
const content = [{ type: 'text', text: 'no such directory' }]
const results = {
  plain: { isError: true, content },
  structured: { isError: true, content, structuredContent: { code: 'not-found' } },
}
const outputSchema = { type: 'object', properties: { entries: { type: 'array' } }, required: ['entries'] }
const tools = Object.keys(results).map((name) => ({ name, inputSchema: { type: 'object' }, outputSchema }))
const server = new Server({ name: 's', version: '1' }, { capabilities: { tools: {} } })
let methods = ['tools/list', 'tools/call']
if (release === '1') {
  const types = await import(`${sdk}/types.js`)
  methods = [types.ListToolsRequestSchema, types.CallToolRequestSchema]
}
server.setRequestHandler(methods[0], () => ({ tools }))
server.setRequestHandler(methods[1], (request) => results[request.params.name])
const [one, other] = InMemoryTransport.createLinkedPair()
await server.connect(one)
const client = new Client({ name: 'c', version: '1' })
await client.connect(other)
await client.listTools()
for (const { name } of tools) {
  try {
    const result = await client.callTool({ name, arguments: {} })
    console.log(release, name, 'returned', result.isError, result.content[0].text)
  } catch (error) {
    console.log(release, name, 'threw', error.code)
  }
}
JS
seen=$(for release in 1 2; do node try.mjs "$release"; done)
echo "$seen"
diff <(sed -n 's/^#   //p' "$self") <(echo "$seen")
