// A server of the npm package `fastmcp`, which is found beside this file's copy.
import { FastMCP } from 'fastmcp'
import { z } from 'zod'

const server = new FastMCP({ name: 'fastmcp', version: '1.0.0' })
server.addTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b),
})
server.start({ transportType: 'stdio' })
