"""A client of MCP over standard input and output that trusts nothing of the server: each wait has a deadline, the number of
bytes read is bounded, and the memory of the server's processes is watched and capped."""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "security/hostile"))

from mcp import printable, session_memory  # noqa: E402

PROTOCOL_VERSION = "2025-06-18"
MIB = 1024 * 1024
READ_BYTES = 1 << 16
# The interval of memory samples, in seconds.
SAMPLE_SECONDS = 0.02
# The memory at which a server is killed: above every bound of a check, below what a machine of 4 GiB bears.
KILL_BYTES = 1536 * MIB
# The most bytes of one message, beyond which the server counts as ended.
MAX_MESSAGE_BYTES = 256 * MIB
# The time for a start, with the compilation of the component, and for an end, in seconds.
START_SECONDS = 60.0
END_SECONDS = 5.0


class Failed(Exception):
    """The server did not do what the protocol requires; the text says what."""


class Hung(Failed):
    """No answer within the deadline."""


class Ended(Failed):
    """The server's process ended, or it closed its output, or it was killed for its memory."""


class Answer:
    """The answer to a call: whether it succeeded, its text, its size in bytes, and the time in seconds."""

    def __init__(self, message, size, seconds):
        self.message, self.size, self.seconds = message, size, seconds
        result = message.get("result")
        result = result if isinstance(result, dict) else {}
        self.ok = "error" not in message and not result.get("isError", False)
        error = message.get("error")
        error = error if isinstance(error, dict) else {"message": error}
        parts = result.get("content")
        parts = [str(part.get("text", "")) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        self.text = " ".join(parts) if "result" in message else str(error.get("message"))

    def evidence(self):
        return {"ok": self.ok, "text": printable(self.text, 300), "bytes": self.size, "seconds": round(self.seconds, 3)}


class Server:
    """One server process in a process session of its own, and the ends of its pipes."""

    def __init__(self, command, directory, environment, is_watched):
        self.log = open(directory / "stderr.log", "ab")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, cwd=directory, env=environment,
            start_new_session=True, bufsize=0,
        )
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.input, False)
        self.next_id = 0
        self.buffer, self.searched = bytearray(), 0
        self.answers, self.sizes, self.sent_at, self.took = {}, {}, {}, {}
        # The notifications, and the number of lines that are no messages.
        self.notified, self.garbage = [], 0
        self.bytes_read, self.peak_bytes, self.is_over = 0, 0, False
        # Reading /proc takes processor time, which a measurement of speed has to itself.
        self.watcher = threading.Thread(target=self._watch if is_watched else lambda: None, daemon=True)
        self.watcher.start()

    def _watch(self):
        while self.process.poll() is None:
            self.peak_bytes = max(self.peak_bytes, session_memory(self.process.pid))
            if self.peak_bytes > KILL_BYTES:
                self.is_over = True
                self.kill()
            time.sleep(SAMPLE_SECONDS)

    def write(self, data, until):
        """Writes while it reads, so that a server that floods its output takes its input, too."""
        data = memoryview(data)
        while data:
            readable, writable, _ = select.select([self.output], [self.input], [], max(0, until - time.monotonic()))
            if not readable and not writable:
                raise Hung("it reads no input")
            if readable:
                self._read()
            if writable:
                try:
                    data = data[os.write(self.input, data):]
                except OSError as error:
                    raise self._ended() from error

    def send(self, message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n", time.monotonic() + START_SECONDS)

    def request(self, method, params):
        """Sends a request and returns its id."""
        self.next_id += 1
        self.sent_at[self.next_id] = time.perf_counter()
        self.send({"id": self.next_id, "method": method, "params": params})
        return self.next_id

    def _read(self):
        data = os.read(self.output, READ_BYTES)
        if not data:
            raise self._ended()
        self.buffer += data
        self.bytes_read += len(data)
        if len(self.buffer) > MAX_MESSAGE_BYTES:
            raise Ended(f"a message of more than {MAX_MESSAGE_BYTES // MIB} MiB")
        now = time.perf_counter()
        while (end := self.buffer.find(b"\n", self.searched)) >= 0:
            line = bytes(self.buffer[:end])
            del self.buffer[:end + 1]
            self.searched = 0
            self._take(line, now)
        self.searched = len(self.buffer)

    def _take(self, line, now):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self.garbage += 1
        elif "method" in message and "id" in message:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "not supported"}})
        elif "method" in message:
            self.notified.append(message["method"])
        else:
            key = message.get("id")
            key = key if isinstance(key, (int, str)) else None
            self.answers[key], self.sizes[key] = message, len(line)
            self.took[key] = now - self.sent_at.pop(key, now)

    def read_for(self, seconds):
        """Reads what arrives within this time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and select.select([self.output], [], [], left)[0]:
            self._read()

    def wait(self, request, seconds):
        """Waits for the answer to a request."""
        until = time.monotonic() + seconds
        while request not in self.answers:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.output], [], [], left)[0]:
                raise Hung(f"no answer within {seconds:g} s")
            self._read()
        return Answer(self.answers.pop(request), self.sizes.pop(request), self.took.pop(request))

    def start_call(self, tool, arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, arguments, seconds):
        return self.wait(self.start_call(tool, arguments), seconds)

    def initialize(self):
        """Opens the connection, and returns the definitions of the tools by name."""
        client = {"name": "peers", "version": "0.1.0"}
        hello = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        opened = self.wait(self.request("initialize", hello), START_SECONDS)
        if not opened.ok:
            raise Failed(f"`initialize` failed: {printable(opened.text)}")
        self.send({"method": "notifications/initialized"})
        return self.tools()

    def tools(self):
        """Returns the definitions of the tools by name. A server that is still loading is asked again."""
        until = time.monotonic() + START_SECONDS
        while True:
            listed = self.wait(self.request("tools/list", {}), START_SECONDS)
            result = listed.message.get("result")
            tools = result.get("tools") if isinstance(result, dict) else None
            if not isinstance(tools, list) or not all(isinstance(tool, dict) and isinstance(tool.get("name"), str) for tool in tools):
                raise Failed(f"`tools/list` returned no tools: {printable(listed.text)}")
            if tools or time.monotonic() > until:
                return {tool["name"]: tool for tool in tools}
            self.read_for(SAMPLE_SECONDS)

    def resident_bytes(self):
        return session_memory(self.process.pid)

    def peak(self):
        """Returns the most memory so far in bytes: of all processes as sampled, or of the first one as the kernel counts it."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            status = ""
        kernel = [int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")]
        return max([self.peak_bytes, *kernel])

    def _ended(self):
        if self.is_over:
            return Ended(f"killed beyond {KILL_BYTES // MIB} MiB")
        try:
            code = self.process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            return Ended("it closed its output")
        if self.is_over:
            return Ended(f"killed beyond {KILL_BYTES // MIB} MiB")
        return Ended(f"it ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}")

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def stop(self):
        """Closes the server's input as a client does, and kills what remains of its processes."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            pass
        self.kill()
        self.process.wait()
        self.watcher.join()
        self.process.stdout.close()
        self.log.close()
