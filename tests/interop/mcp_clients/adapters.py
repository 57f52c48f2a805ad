"""Calls tools of an MCP server with the client of one library, and prints what the library makes of each result.

usage: adapters.py LIBRARY URL
       adapters.py LIBRARY COMMAND ARGUMENT...

LIBRARY is `mcp` (release 1 of the official SDK), `fastmcp`, `pydantic_ai`, `agents` or `langchain`. Standard input has
one call a line, {"name", "arguments"}. The first line of standard output is the list of tools' names, and each further
one the library's own form of a result, or the exception that it raises. The last one is `"closed"`.
AGENT_HOST_MCP_TOKEN is the token for the URL, and the variables of this process are those of the command.
"""

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager


def headers():
    return {"authorization": f"Bearer {os.environ['AGENT_HOST_MCP_TOKEN']}"}


def is_url(target):
    return target[0].startswith("http://")


def plain(value):
    """A value of a library as JSON."""
    if hasattr(value, "model_dump"):
        return value.model_dump(by_alias=True, exclude_none=True, mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


@asynccontextmanager
async def with_mcp(target):
    from mcp import ClientSession, StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    if is_url(target):
        transport = streamablehttp_client(target[0], headers=headers())
    else:
        command, *arguments = target
        transport = stdio_client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)))
    async with transport as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        yield [tool.name for tool in tools], session.call_tool


def fastmcp_transport(target):
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    if is_url(target):
        return StreamableHttpTransport(target[0], headers=headers())
    command, *arguments = target
    return StdioTransport(command=command, args=arguments, env=dict(os.environ), keep_alive=False)


@asynccontextmanager
async def with_fastmcp(target):
    from fastmcp import Client

    async with Client(fastmcp_transport(target)) as client:
        async def call(name, arguments):
            result = await client.call_tool(name, arguments)
            return {"content": plain(result.content), "structured": result.structured_content}

        yield [tool.name for tool in await client.list_tools()], call


@asynccontextmanager
async def with_pydantic_ai(target):
    from pydantic_ai import BinaryContent
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(fastmcp_transport(target)) as toolset:
        async def call(name, arguments):
            value = await toolset.direct_call_tool(name, arguments)
            return value.data_uri if isinstance(value, BinaryContent) else value

        yield [tool.name for tool in await toolset.list_tools()], call


@asynccontextmanager
async def with_agents(target):
    from agents import RunContextWrapper
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil

    if is_url(target):
        made = MCPServerStreamableHttp({"url": target[0], "headers": headers()})
    else:
        command, *arguments = target
        made = MCPServerStdio({"command": command, "args": arguments, "env": dict(os.environ)})
    async with made as server:
        tools = {tool.name: tool for tool in await server.list_tools()}

        async def call(name, arguments):
            context = RunContextWrapper(context=None)
            return await MCPUtil.invoke_mcp_tool(server, tools[name], context, json.dumps(arguments))

        yield list(tools), call


@asynccontextmanager
async def with_langchain(target):
    from langchain_mcp_adapters.sessions import create_session
    from langchain_mcp_adapters.tools import load_mcp_tools

    if is_url(target):
        connection = {"transport": "streamable_http", "url": target[0], "headers": headers()}
    else:
        command, *arguments = target
        connection = {"transport": "stdio", "command": command, "args": arguments, "env": dict(os.environ)}
    async with create_session(connection) as session:
        await session.initialize()
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call(name, arguments):
            order = {"name": name, "args": arguments, "id": "call", "type": "tool_call"}
            message = await tools[name].ainvoke(order)
            content = message.content
            blocks = [
                {key: value for key, value in block.items() if key != "id"} if isinstance(block, dict) else block
                for block in ([content] if isinstance(content, str) else content)
            ]
            return {"status": message.status, "content": blocks, "artifact": message.artifact}

        yield list(tools), call


async def main(library, target):
    async with globals()[f"with_{library}"](target) as (names, call):
        print(json.dumps(names))
        for line in sys.stdin:
            order = json.loads(line)
            try:
                value = plain(await call(order["name"], order["arguments"]))
            except Exception as error:
                value = {"raised": type(error).__name__, "message": str(error)}
            print(json.dumps(value))
    print(json.dumps("closed"))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
