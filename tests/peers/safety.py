"""The safety rows: each starts the server anew, makes sure that the tool works where it may, and makes the attempt."""

import json
import os
import pathlib
import tempfile
import time
import unicodedata

from client import MIB, Ended, Failed, printable
from surroundings import NEXT_VERSION, VERSION, Surroundings

HELD, NOT_HELD, NOT_OFFERED = "held", "not held", "not offered"

# Beyond a call's deadline, until its answer, in seconds.
DEADLINE_SLACK_SECONDS = 2.0
# The time for a call that has nothing to wait for, and for one beside a loop, in seconds.
CALL_SECONDS = 30.0
BESIDE_SECONDS = 1.0
BESIDE_CALLS = 20
# The memory that a call takes, and the most that all of the server may have, in MiB.
BOMB_MIB = 1024
MAX_MEMORY_MIB = 512
# The streams that a call opens, and the tasks that it starts at once.
MANY_STREAMS, MANY_TASKS = 10_000_000, 1_000_000
# The output of a call, and the most of it that may reach the client, in MiB.
FLOOD_MIB = 64
MAX_FLOOD_MIB = 16
# The time in which a changed component may show, in seconds, and between two calls.
CHANGE_SECONDS = 3.0
POLL_SECONDS = 0.1
# The nesting of a malformed request.
DEPTH = 100_000


class NotOffered(Exception):
    """The server lacks what the row is about; the text says what."""


class Trial:
    """A server in its surroundings for one row, and the evidence so far."""

    def __init__(self, around):
        self.around = around
        self.description = around.description
        self.server, self.tools, self.evidence = None, {}, {}

    def start(self):
        """Starts the server, and makes sure that its tools work."""
        self.serve()
        self.control("echo", f"{VERSION}:hello", text="hello")

    def serve(self):
        self.server = self.around.start()
        self.tools = self.server.initialize()

    def control_elsewhere(self, component, expected):
        """Makes sure that a server that never saw another component serves this one."""
        around = Surroundings(self.description, self.around.root / "elsewhere", "safety")
        around.replace_component(component)
        elsewhere = Trial(around)
        try:
            elsewhere.serve()
            elsewhere.control("echo", expected, text="elsewhere")
        except Failed as failure:
            raise NotOffered(f"it does not start: {failure}") from failure
        finally:
            elsewhere.stop()
            around.close()

    def stop(self):
        if self.server is not None:
            self.evidence["peak-mib"] = max(self.evidence.get("peak-mib", 0), self.server.peak() // MIB)
            self.server.stop()
            self.server = None

    def name(self, tool):
        name = self.description.tool(tool)
        if name not in self.tools:
            raise NotOffered(f"no tool `{tool}`")
        return name

    def call(self, tool, seconds=CALL_SECONDS, **arguments):
        return self.server.call(self.name(tool), arguments, seconds)

    def attempt(self, tool, seconds=CALL_SECONDS, **arguments):
        """Makes a call whose answer is evidence."""
        answer = self.call(tool, seconds, **arguments)
        self.evidence.setdefault("answers", []).append(answer.evidence())
        return answer

    def control(self, tool, expected, **arguments):
        """Makes a call that has to succeed, without which the row would hold for any server."""
        try:
            answer = self.call(tool, **arguments)
        except Failed as failure:
            raise NotOffered(f"`{tool}` does not work where it may: {failure}") from failure
        if not answer.ok or expected not in answer.text:
            raise NotOffered(f"`{tool}` does not work where it may: {printable(answer.text, 300)}")

    def is_alive(self):
        """Whether the same process still answers a call of another tool."""
        alive = self.call("echo", text="alive")
        self.evidence["alive"] = alive.ok and ":alive" in alive.text
        return self.evidence["alive"]


def loop_ends(trial):
    trial.start()
    answer = trial.attempt("spin", trial.description.deadline_seconds + DEADLINE_SLACK_SECONDS)
    return not answer.ok and trial.is_alive()


def others_beside_loop(trial):
    trial.start()
    return are_answered_beside(trial, [trial.server.start_call(trial.name("spin"), {})])


def loops_on_all_processors(trial):
    trial.start()
    spin = trial.name("spin")
    loops = [trial.server.start_call(spin, {}) for _ in os.sched_getaffinity(0)]
    if not are_answered_beside(trial, loops):
        return False
    longest = trial.description.deadline_seconds + DEADLINE_SLACK_SECONDS
    answers = [trial.server.wait(loop, longest) for loop in loops]
    trial.evidence["answers"] = [answer.evidence() for answer in answers]
    return not any(answer.ok or answer.seconds > longest for answer in answers) and trial.is_alive()


def are_answered_beside(trial, loops):
    """Whether other calls are answered in time while these loop."""
    times = []
    for number in range(BESIDE_CALLS):
        answer = trial.call("echo", BESIDE_SECONDS, text=f"beside-{number}")
        if not answer.ok or f"beside-{number}" not in answer.text:
            return False
        times.append(answer.seconds)
    trial.evidence["slowest-ms"] = round(max(times) * 1000, 1)
    return not any(loop in trial.server.answers for loop in loops)


def memory_bomb(trial):
    trial.start()
    trial.control("allocate", "bytes", mib=1)
    trial.attempt("allocate", mib=BOMB_MIB)
    return trial.is_alive() and trial.server.peak() < MAX_MEMORY_MIB * MIB


def many_streams(trial):
    trial.start()
    trial.control("hoard", "3", streams=3)
    trial.attempt("hoard", streams=MANY_STREAMS)
    return trial.is_alive() and trial.server.peak() < MAX_MEMORY_MIB * MIB


def many_tasks(trial):
    trial.start()
    trial.control("nap", "", times=3, ms=1)
    trial.attempt("nap", times=MANY_TASKS, ms=1)
    return trial.is_alive() and trial.server.peak() < MAX_MEMORY_MIB * MIB


def endless_stream(trial):
    trial.start()
    before = trial.server.bytes_read
    trial.attempt("endless")
    return within_flood(trial, before)


def endless_wait(trial):
    trial.start()
    answer = trial.attempt("stuck", trial.description.deadline_seconds + DEADLINE_SLACK_SECONDS)
    return not answer.ok and trial.is_alive()


def result_flood(trial):
    trial.start()
    trial.control("flood", "x", mib=1)
    before = trial.server.bytes_read
    trial.attempt("flood", mib=FLOOD_MIB)
    return within_flood(trial, before)


def output_flood(trial):
    trial.start()
    before = trial.server.bytes_read
    trial.attempt("print", mib=FLOOD_MIB)
    return within_flood(trial, before)


def within_flood(trial, before):
    alive = trial.is_alive()
    trial.evidence["bytes-read"] = trial.server.bytes_read - before
    trial.evidence["lines-outside-of-the-protocol"] = trial.server.garbage
    in_bounds = trial.evidence["bytes-read"] <= MAX_FLOOD_MIB * MIB and not trial.server.garbage
    return alive and in_bounds and trial.server.peak() < MAX_MEMORY_MIB * MIB


def recursion(trial):
    trial.start()
    return not trial.attempt("recurse").ok and trial.is_alive()


def crash(trial):
    trial.start()
    return not trial.attempt("crash").ok and trial.is_alive()


def read_outside(paths):
    def check(trial):
        trial.start()
        trial.control("read-file", "granted content", path=trial.around.directory + "granted.txt")
        answers = [trial.attempt("read-file", path=path) for path in paths(trial.around)]
        return all(trial.around.canary not in json.dumps(answer.message) for answer in answers)

    return check


def parent(around):
    paths = f"../../{around.outside.name}/canary.txt", f"./../granted/../../{around.outside.name}/canary.txt"
    return [around.directory + path for path in paths]


def absolute(around):
    return [str(around.outside / "canary.txt")]


def linked(around):
    return [around.directory + path for path in ("link.txt", "link-directory/canary.txt")]


def write_outside(trial):
    trial.start()
    around = trial.around
    trial.control("write-file", "", path=around.directory + "written.txt", text="written")
    written = around.granted / "written.txt"
    if not written.is_file() or written.read_text() != "written":
        raise NotOffered("`write-file` wrote nothing where it may")
    new = [around.directory + path for path in (f"../../{around.outside.name}/new-1.txt", "link-directory/new-2.txt")]
    for path in parent(around) + absolute(around) + linked(around) + new + [str(around.outside / "new-3.txt")]:
        trial.attempt("write-file", path=path, text="overwritten")
    found = {path.name: path.read_text() for path in around.outside.iterdir()}
    trial.evidence["outside"] = {name: text == around.canary for name, text in sorted(found.items())}
    return found == {"canary.txt": around.canary}


def tcp(trial):
    trial.start()
    trial.attempt("connect", address=f"127.0.0.1:{trial.around.closed.port}")
    # The listener decides: a server may return the error of a tool as a result.
    trial.evidence["connections"] = trial.around.closed.connections_so_far()
    return trial.evidence["connections"] == 0


def http(listener, hosts):
    def check(trial):
        trial.start()
        around = trial.around
        granted = f"127.0.0.1:{around.open.port}"
        trial.control("http-get", "received: GET /granted", url=f"http://{granted}/granted", authorization="")
        forbidden = listener(around)
        counts = trial.evidence["connections"] = []
        for host in hosts:
            trial.attempt("http-get", url=f"http://{host.format(granted=granted)}:{forbidden.port}/", authorization="")
            counts.append(forbidden.connections_so_far())
        return counts[-1] == 0

    return check


def environment(trial):
    trial.start()
    trial.control("read-variable", "granted value", name="PEERS_GRANTED")
    answers = [trial.attempt("read-variable", name=name) for name in ("PEERS_VARIABLE", "PEERS_SECRET")]
    said = json.dumps([answer.message for answer in answers])
    return trial.around.variable not in said and trial.around.secret not in said


def secret(trial):
    if trial.description.authorization is None:
        raise NotOffered("it has no secrets")
    trial.start()
    around = trial.around
    url = f"http://127.0.0.1:{around.open.port}/secret"
    answer = trial.attempt("http-get", url=url, authorization=trial.description.authorization)
    if not any(around.secret in request for request in around.open.requests):
        raise NotOffered(f"the secret does not reach its server: {printable(answer.text, 300)}")
    trial.stop()
    said = json.dumps(answer.message)
    files = [path for path in around.root.rglob("*") if path.is_file() and around.secret.encode() in path.read_bytes()]
    # Evidence may be published: it names the places and not the value.
    trial.evidence["answers"] = [printable(said.replace(around.secret, "(the secret)"), 300)]
    trial.evidence["files"] = [str(path.relative_to(around.root)) for path in files]
    return around.secret not in said and not files


def changed_while_served(trial):
    trial.control_elsewhere(trial.around.next_version(), NEXT_VERSION)
    trial.start()
    trial.around.replace_component(trial.around.next_version())
    until = time.monotonic() + CHANGE_SECONDS
    while time.monotonic() < until:
        answer = trial.call("echo", text="after")
        if VERSION not in answer.text:
            break
        trial.server.read_for(POLL_SECONDS)
    is_listed_anew = trial.server.tools() != trial.tools
    trial.evidence["answers"] = [answer.evidence()]
    trial.evidence["definitions-changed"] = is_listed_anew
    trial.evidence["notifications"] = sorted(set(trial.server.notified))
    told = "notifications/tools/list_changed" in trial.server.notified
    return told or not (is_listed_anew or NEXT_VERSION in answer.text)


def changed_between_starts(trial):
    trial.control_elsewhere(trial.around.next_version(), NEXT_VERSION)
    # The second start shows that a start with the same code works.
    for _ in range(2):
        trial.start()
        trial.stop()
    before = trial.tools
    trial.around.replace_component(trial.around.next_version())
    try:
        trial.serve()
    except Ended as ended:
        trial.evidence["refused"] = str(ended)
        return True
    if trial.description.tool("echo") not in trial.tools:
        trial.evidence["refused"] = "the tool is not listed"
        return True
    trial.evidence["definitions-changed"] = trial.tools != before
    return trial.tools == before and NEXT_VERSION not in trial.attempt("echo", text="changed").text


def hostile_description(trial):
    # A refusal counts if the same component without that text is served.
    trial.control_elsewhere(trial.around.original, VERSION)
    trial.around.replace_component(trial.around.hostile())
    try:
        trial.serve()
    except Ended as ended:
        trial.evidence["refused"] = str(ended)
        return True
    listed = trial.tools[trial.name("echo")]
    trial.evidence["definition"] = json.dumps(listed)[:600]
    if "Returns the text." not in str(listed.get("description")):
        raise NotOffered("it shows no descriptions of components")
    return not any(is_hidden(letter) for text in texts(listed) for letter in text)


def texts(value):
    """All texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def is_hidden(letter):
    """Whether a character is a control or format character: it steers a terminal, or is not seen."""
    return unicodedata.category(letter) in ("Cc", "Cf") and letter not in "\n\t"


def malformed(trial):
    trial.start()
    echo = trial.name("echo")
    nested = "[" * DEPTH + "]" * DEPTH
    refused = True
    # Those with an id are messages that have to be answered with an error.
    for number, (method, params) in enumerate([
        ("tools/call", {"name": "no-such-tool", "arguments": {}}),
        ("tools/call", {"name": echo, "arguments": {"text": 5}}),
        ("tools/call", {"name": echo, "arguments": {}}),
        ("tools/call", {"name": echo, "arguments": [1]}),
        ("tools/call", {"arguments": {"text": "no name"}}),
        ("tools/call", [1, 2]),
        ("no/such/method", {}),
    ]):
        answer = trial.server.wait(trial.server.request(method, params), CALL_SECONDS)
        trial.evidence.setdefault("answers", []).append(answer.evidence())
        refused = refused and not answer.ok
    for line in [
        b"not JSON", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":{},"method":5}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
        f'{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{{"name":"{echo}","arguments":{nested}}}}}'.encode(),
    ]:
        trial.server.write(line + b"\n", time.monotonic() + CALL_SECONDS)
        if not trial.is_alive():
            return False
    return refused and not trial.server.garbage


# The rows in the order of the table.
CHECKS = {
    "an endless loop ends by its deadline": loop_ends,
    "other calls are answered beside it": others_beside_loop,
    "as many loops as processors end, others beside them": loops_on_all_processors,
    "a call cannot take the server's memory": memory_bomb,
    "a result of 64 MiB is bounded": result_flood,
    "64 MiB of standard output are bounded": output_flood,
    "endless recursion ends its call alone": recursion,
    "a crash ends its call alone": crash,
    "no file is read by `..`": read_outside(parent),
    "no file is read by an absolute path": read_outside(absolute),
    "no file is read through a symbolic link": read_outside(linked),
    "nothing is written outside of the grant": write_outside,
    "no TCP connection without a grant": tcp,
    "no HTTP request to another host": http(lambda around: around.abroad, ("127.0.0.2", "{granted}@127.0.0.2")),
    "no HTTP request to another port": http(lambda around: around.closed, ("127.0.0.1", "localhost", "{granted}@127.0.0.1")),
    "no variable of the environment is seen": environment,
    "a secret is in no result and no file": secret,
    "code changed while served is not used untold": changed_while_served,
    "code changed between starts is not used": changed_between_starts,
    "a description steers no terminal": hostile_description,
    "malformed input is refused": malformed,
}
# Those of tools with streams: WASI 0.3, or the server's own kind.
STREAM_CHECKS = {
    "an endless stream is bounded": endless_stream,
    "10 million streams are bounded": many_streams,
    "a million tasks are bounded": many_tasks,
    "a wait without end ends by the deadline": endless_wait,
}


def judge(description, title):
    """Runs one row for one server, and returns its status and its evidence."""
    check = CHECKS.get(title)
    if check is None:
        check, description = STREAM_CHECKS[title], description.with_streams()
    if description is None:
        return {"status": NOT_OFFERED, "not-offered": "it runs no tools with streams"}
    with tempfile.TemporaryDirectory(prefix="peers-") as directory:
        around = Surroundings(description, pathlib.Path(directory), "safety")
        trial = Trial(around)
        try:
            status = HELD if check(trial) else NOT_HELD
        except NotOffered as lacking:
            status, trial.evidence["not-offered"] = NOT_OFFERED, str(lacking)
        except (Failed, OSError) as failure:
            # A server that does not even start offers nothing.
            status = NOT_HELD if trial.tools else NOT_OFFERED
            trial.evidence["failed"] = str(failure)
        finally:
            trial.stop()
            around.close()
        log = around.work / "stderr.log"
        said = printable(log.read_text(errors="replace")[-600:], 600) if log.is_file() else ""
        trial.evidence["stderr"] = said.replace(around.secret, "(the secret)")
    return {"status": status, **trial.evidence}
