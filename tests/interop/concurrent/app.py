"""Async functions in Python."""

import componentize_py_async_support
import wit_world
from wit_world import byte_stream, u32_stream


class WitWorld(wit_world.WitWorld):
    async def greet(self, name: str) -> str:
        return f"Hello, {name}!"

    async def count(self, to: int):
        writer, reader = u32_stream()

        async def fill():
            with writer:
                await writer.write_all(list(range(to)))

        componentize_py_async_support.spawn(fill())
        return reader

    async def upper(self, bytes):
        writer, reader = byte_stream()

        async def fill():
            with writer, bytes:
                while not bytes.writer_dropped:
                    chunk = await bytes.read(1024)
                    if chunk:
                        await writer.write(chunk.upper())

        componentize_py_async_support.spawn(fill())
        return reader
