// Takes the steps of check.py with OpenAI's SDK for JavaScript, and prints the same lines.
//
// usage: check.mjs BASE_URL TOKEN IMAGE
import { createRequire } from 'node:module'

const require = createRequire(`${process.env.OPENAI_PACKAGES}/`)
const { default: OpenAI } = require('openai')

const [baseURL, apiKey, image] = process.argv.slice(2)
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
const model = 'agent-host'
const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false })
const weather = { name: 'get_weather', description: 'Returns the weather.', parameters: object({ city: { type: 'string' } }), strict: true }
const step = (...values) => console.log(JSON.stringify(values))
const user = (content) => [{ role: 'user', content }]
const respond = (request) => client.responses.create({ model, ...request })
const complete = (request) => client.chat.completions.create({ model, ...request })

const ids = []
for await (const found of client.models.list()) ids.push(found.id)
step('models', ids, (await client.models.retrieve('clerk')).id)
const first = await respond({ input: 'Hello', instructions: 'Be brief.', metadata: { a: 'b' } })
step('text', first.output_text, first.status, first.usage.total_tokens, first.metadata)
const second = await respond({ input: 'Again', previous_response_id: first.id })
step('previous', second.output_text, second.previous_response_id === first.id)
step('read', (await client.responses.retrieve(second.id)).output_text)
const content = [{ type: 'input_text', text: 'What is it?' }, { type: 'input_image', image_url: image, detail: 'auto' }]
step('image', (await respond({ input: user(content) })).output_text)
step('tool inside', (await respond({ input: 'Read it' })).output_text)

const streamed = client.responses.stream({ model, input: 'Stream' })
let deltas = ''
streamed.on('response.output_text.delta', (event) => (deltas += event.delta))
const final = await streamed.finalResponse()
step('stream', deltas, final.output_text, final.status)
const names = []
for await (const event of await respond({ input: 'Raw', stream: true })) names.push(event.type)
step('events', names)

const tools = [{ type: 'function', ...weather }]
const asked = await client.responses.stream({ model, input: 'Weather?', tools }).finalResponse()
const [call] = asked.output
const output = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
const answered = await respond({ input: [output], previous_response_id: asked.id, tools })
step('function', call.type, call.name, call.arguments, answered.output_text)
const format = { type: 'json_schema', name: 'count', schema: object({ count: { type: 'integer' } }), strict: true }
step('schema', JSON.parse((await respond({ input: 'How many?', text: { format } })).output_text))
const waiting = await respond({ input: 'Write it' })
step('waiting', waiting.status, waiting.output_text.split('.')[0], waiting.agent_host.end)

const chat = await complete({ messages: user('Chat') })
step('chat', chat.choices[0].message.content, chat.choices[0].finish_reason, chat.usage.total_tokens)
let text = ''
let usage
for await (const chunk of await complete({ messages: user('Chunks'), stream: true, stream_options: { include_usage: true } })) {
  text += chunk.choices.map((choice) => choice.delta.content ?? '').join('')
  usage = chunk.usage ?? usage
}
step('chunks', text, usage.total_tokens)
const messages = user('Weather?')
const functions = [{ type: 'function', function: weather }]
const message = await client.chat.completions.stream({ model, messages, tools: functions }).finalMessage()
const [{ id, function: called }] = message.tool_calls
messages.push(message, { role: 'tool', tool_call_id: id, content: 'sunny' })
const said = await complete({ messages, tools: functions })
step('chat function', called.name, called.arguments, said.choices[0].message.content)

const failure = async (name, call) => {
  try {
    await call()
    step(name, 'no error')
  } catch (error) {
    step(name, error.constructor.name, error.status, error.code)
  }
}
await failure('unknown model', () => client.responses.create({ model: 'gpt-5', input: 'a' }))
await failure('unknown model of a chat', () => client.chat.completions.create({ model: 'gpt-5', messages: user('a') }))
await failure('unknown response', () => client.responses.retrieve('resp_1'))
await failure('bad parameter', () => respond({ input: 'a', background: true }))
const lockedOut = client.withOptions({ apiKey: 'wrong' })
await failure('bad token', () => lockedOut.models.list())
await failure('bad token of a stream', () => lockedOut.responses.create({ model, input: 'a', stream: true }))
