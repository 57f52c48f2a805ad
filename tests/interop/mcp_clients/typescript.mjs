// Calls tools of an MCP server with a client of the TypeScript SDK, and prints what it returns. It finds its packages
// from its own directory.
//
// usage: typescript.mjs RELEASE URL
//        typescript.mjs RELEASE COMMAND ARGUMENT...
//
// RELEASE is 1 or 2. Input and output are those of adapters.py; AGENT_HOST_MCP_TOKEN is the token for the URL.
import { createInterface } from 'node:readline'

const [release, target, ...args] = process.argv.slice(2)
const stdio = release === '1' ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio'
const core = release === '1' ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client'
const http = release === '1' ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : core
const { Client } = await import(core)
const { StdioClientTransport } = await import(stdio)
const { StreamableHTTPClientTransport } = await import(http)

const authorization = `Bearer ${process.env.AGENT_HOST_MCP_TOKEN}`
const transport = target.startsWith('http://')
  ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { authorization } } })
  : new StdioClientTransport({ command: target, args, env: process.env })
const client = new Client({ name: 'typescript', version: release })
await client.connect(transport)
const print = (value) => console.log(JSON.stringify(value))
const { tools } = await client.listTools()
print(tools.map((tool) => tool.name))
for await (const line of createInterface({ input: process.stdin })) {
  try {
    print(await client.callTool(JSON.parse(line)))
  } catch (error) {
    print({ raised: error.name, message: error.message })
  }
}
await client.close()
print('closed')
