"""Calls tools of an MCP server with the client of the official SDK, and prints everything received.

usage: client.py MODE URL
       client.py MODE COMMAND ARGUMENT...

MODE is `legacy`, the handshake, or `auto`, the newest version that both know. Standard input has one call a line,
{"name", "arguments", "answer"}: `answer` is what the user says when the server asks during the call (`accept`, with the
first choice or the text `an answer`, or `decline`). The first line of standard output is the server and its tools, each
further one {"result", "progress", "logs", "asked"} of a call. AGENT_HOST_MCP_TOKEN is the token for the URL, and the
variables of this process are those of the command.
"""

import asyncio
import json
import os
import sys
import warnings

from mcp import Client, MCPDeprecationWarning, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import ElicitResult


def told(model):
    """A value of the SDK as it is on the wire."""
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")


class Call:
    """A call, with the server's notifications and questions during it."""

    def __init__(self, line):
        self.order = json.loads(line)
        self.told = {"progress": [], "logs": [], "asked": []}

    async def progress(self, progress, total, message):
        self.told["progress"].append([progress, total, message])

    def answer(self, question):
        form = told(question)
        # A new progress token for each call.
        form.pop("_meta", None)
        self.told["asked"].append(form)
        if self.order["answer"] == "decline":
            return ElicitResult(action="decline")
        fields = question.requested_schema["properties"].items()
        content = {name: first_choice(field) for name, field in fields}
        return ElicitResult(action="accept", content=content)


def first_choice(field):
    if "enum" in field:
        return field["enum"][0]
    if "oneOf" in field:
        return field["oneOf"][0]["const"]
    return "an answer"


async def all_tools(client):
    """The tools of every page."""
    tools, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += [told(tool) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return tools


async def talk(server, mode):
    # Calls run one after the other, so what arrives belongs to the newest.
    calls = [Call("null")]

    async def on_log(params):
        calls[-1].told["logs"].append(told(params))

    async def on_question(_context, question):
        return calls[-1].answer(question)

    async with Client(
        server,
        mode=mode,
        logging_callback=on_log,
        elicitation_callback=on_question,
        log_level="debug",
    ) as client:
        if mode == "legacy":
            await client.session.set_logging_level("debug")
        about = told(client.server_info)
        tools = await all_tools(client)
        print(json.dumps({"protocol": client.protocol_version, "server": about, "tools": tools}))
        for line in sys.stdin:
            call = Call(line)
            calls.append(call)
            result = await client.call_tool(
                call.order["name"], call.order["arguments"], progress_callback=call.progress
            )
            print(json.dumps({"result": told(result), **call.told}))


def main():
    # Determined by the handshake's version.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    mode, target, *arguments = sys.argv[1:]
    if target.startswith("http://"):
        token = os.environ["AGENT_HOST_MCP_TOKEN"]
        http = create_mcp_http_client(headers={"authorization": f"Bearer {token}"})
        server = streamable_http_client(target, http_client=http)
    else:
        server = StdioServerParameters(command=target, args=arguments, env=dict(os.environ))
    asyncio.run(talk(server, mode))


main()
