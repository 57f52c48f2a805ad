"""Drives agent-host with OpenAI's SDK for Python, and prints what it makes of each answer, one JSON
line for each step: check.mjs takes the same steps. Besides, each answer has to fit the SDK's types,
which the SDK itself does not check.

usage: check.py BASE_URL TOKEN IMAGE
"""

import json
import sys

import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

base_url, token, image = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key=token, max_retries=0)
EVENT = TypeAdapter(ResponseStreamEvent)
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
FUNCTION = {"name": "get_weather", "description": "Returns the weather.", "parameters": WEATHER, "strict": True}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"], "additionalProperties": False}


def step(name, *values):
    print(json.dumps([name, *values]))


def respond(**request):
    raw = client.responses.with_raw_response.create(model="agent-host", **request)
    Response.model_validate(json.loads(raw.text))
    return raw.parse()


def complete(messages, **request):
    raw = client.chat.completions.with_raw_response.create(model="agent-host", messages=messages, **request)
    ChatCompletion.model_validate(json.loads(raw.text))
    return raw.parse()


def user(text):
    return [{"role": "user", "content": text}]


step("models", [model.id for model in client.models.list()], client.models.retrieve("clerk").id)
first = respond(input="Hello", instructions="Be brief.", metadata={"a": "b"})
step("text", first.output_text, first.status, first.usage.total_tokens, first.metadata)
second = respond(input="Again", previous_response_id=first.id)
step("previous", second.output_text, second.previous_response_id == first.id)
step("read", client.responses.retrieve(second.id).output_text)
content = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": image, "detail": "auto"}]
step("image", respond(input=user(content)).output_text)
step("tool inside", respond(input="Read it").output_text)

with client.responses.stream(model="agent-host", input="Stream") as stream:
    deltas = ""
    for event in stream:
        deltas += event.delta if event.type == "response.output_text.delta" else ""
    final = stream.get_final_response()
step("stream", deltas, final.output_text, final.status)
names = []
for event in client.responses.create(model="agent-host", input="Raw", stream=True):
    EVENT.validate_python(event.to_dict())
    names.append(event.type)
step("events", names)

tools = [{"type": "function", **FUNCTION}]
with client.responses.stream(model="agent-host", input="Weather?", tools=tools) as stream:
    asked = stream.get_final_response()
call = asked.output[0]
output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
answered = respond(input=[output], previous_response_id=asked.id, tools=tools)
step("function", call.type, call.name, call.arguments, answered.output_text)
form = {"format": {"type": "json_schema", "name": "count", "schema": COUNT, "strict": True}}
step("schema", json.loads(respond(input="How many?", text=form).output_text))
waiting = respond(input="Write it")
step("waiting", waiting.status, waiting.output_text.split(".")[0], waiting.agent_host["end"])

chat = complete(user("Chat"))
choice = chat.choices[0]
step("chat", choice.message.content, choice.finish_reason, chat.usage.total_tokens)
text, usage = "", None
for chunk in client.chat.completions.create(
    model="agent-host", messages=user("Chunks"), stream=True, stream_options={"include_usage": True}
):
    ChatCompletionChunk.model_validate(chunk.to_dict())
    text += "".join(choice.delta.content or "" for choice in chunk.choices)
    usage = chunk.usage or usage
step("chunks", text, usage.total_tokens)
tools = [{"type": "function", "function": FUNCTION}]
messages = user("Weather?")
with client.chat.completions.stream(model="agent-host", messages=messages, tools=tools) as stream:
    message = stream.get_final_completion().choices[0].message
call = message.tool_calls[0]
messages += [
    {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}}]},
    {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
]
answered = complete(messages, tools=tools)
step("chat function", call.function.name, call.function.arguments, answered.choices[0].message.content)


def failure(name, call):
    try:
        call()
        step(name, "no error")
    except openai.APIStatusError as error:
        step(name, type(error).__name__, error.status_code, error.code)


failure("unknown model", lambda: client.responses.create(model="gpt-5", input="a"))
failure("unknown model of a chat", lambda: client.chat.completions.create(model="gpt-5", messages=user("a")))
failure("unknown response", lambda: client.responses.retrieve("resp_1"))
failure("bad parameter", lambda: client.responses.create(model="agent-host", input="a", background=True))
locked_out = client.with_options(api_key="wrong")
failure("bad token", lambda: locked_out.models.list())
failure("bad token of a stream", lambda: locked_out.responses.create(model="agent-host", input="a", stream=True))
