"""Judges what became of the sessions of several hosts, by the tables of their database and by what was counted outside. It knows the
form of events, and nothing of the hosts' code."""

import collections
import json

UNKNOWN = "interrupted-unknown"


def rows(sql, query):
    """Reads rows as JSON objects."""
    return [json.loads(line) for line in sql(f"SELECT row_to_json(found) FROM ({query}) AS found").splitlines() if line]


def check(sql, accepted, counts):
    """Returns figures, and the problems as sentences. `accepted` has the sessions by the keys of their requests, `counts` the requests
    that arrived outside by their idempotency keys."""
    problems = []
    sessions = {row["id"]: row for row in rows(sql, "SELECT id, events, outcome, parent FROM sessions JOIN progress ON session = id")}
    events = collections.defaultdict(list)
    # Texts of events may have line ends only as escapes.
    for row in rows(sql, "SELECT session, seq, kind, json FROM events ORDER BY session, seq"):
        events[row["session"]].append((row["seq"], row["kind"], json.loads(row["json"])))

    for key, session in accepted.items():
        if session not in sessions:
            problems.append(f"lost: session {session} of {key} was accepted and is not there")
    twice = [session for session, number in collections.Counter(accepted.values()).items() if number > 1]
    problems += [f"one session for two requests: {session}" for session in twice]
    unasked = set(sessions) - set(accepted.values())
    problems += [f"a session that no request is known to have begun: {session}" for session in unasked]

    known_keys, unknown, settled_calls = set(), 0, 0
    for session, of_session in events.items():
        where = f"session {session}"
        numbers = [seq for seq, _, _ in of_session]
        if numbers != list(range(len(numbers))):
            problems.append(f"gap: {where} has the events {numbers}")
        if session not in sessions or sessions[session]["events"] != len(numbers):
            problems.append(f"{where} has {len(numbers)} events, and its row says otherwise")
        intended, settled = {}, collections.Counter()
        placed = set()
        for seq, kind, event in of_session:
            event = event.get("event", event)
            if kind == "call-intended":
                call = event["call_id"]
                if call in intended:
                    problems.append(f"{where}: call {call} was intended twice")
                intended[call] = event["idempotency_key"]
                known_keys.add(event["idempotency_key"])
            elif kind == "call-settled":
                call = event["call_id"]
                settled[call] += 1
                settled_calls += 1
                hits = counts[intended[call]] if call in intended else 0
                is_unknown = UNKNOWN in json.dumps(event["output"])
                unknown += is_unknown
                if hits > 1:
                    problems.append(f"doubled: {where}: call {call} arrived {hits} times")
                if not is_unknown and hits != 1:
                    problems.append(f"{where}: call {call} arrived {hits} times, and says {json.dumps(event['output'])[:200]}")
            elif kind == "run-placed":
                placed.add(json.dumps(event["configuration"], sort_keys=True))
        for call in intended:
            if settled[call] != 1:
                problems.append(f"{where}: call {call} has {settled[call]} results")
        if len(placed) != 1:
            problems.append(f"{where} ran with {len(placed)} configurations")
        if sessions.get(session, {}).get("outcome") != "done":
            last = of_session[-1][1]
            problems.append(f"{where} did not end: {sessions.get(session, {}).get('outcome')}, last event {last}")

    unrecorded = {key: number for key, number in counts.items() if key not in known_keys}
    problems += [f"an effect that no journal has: {key} arrived {number} times" for key, number in unrecorded.items()]

    claims = 0
    last = {}
    for row in rows(sql, "SELECT session, epoch FROM audit ORDER BY at, epoch"):
        claims += 1
        if row["epoch"] <= last.get(row["session"], 0):
            problems.append(f"session {row['session']}: epoch {row['epoch']} after {last[row['session']]}")
        last[row["session"]] = row["epoch"]
    stopped = rows(sql, "SELECT session, reason FROM runs")
    problems += [f"session {row['session']} still has a run: {row['reason']}" for row in stopped]

    figures = {
        "sessions": len(sessions),
        "calls": settled_calls,
        "effects": sum(counts.values()),
        "calls with an unknown outcome": unknown,
        "events": sum(map(len, events.values())),
        "claims": claims,
        "claims beyond the first": claims - len(last),
        "lost or doubled": len(problems),
    }
    return figures, problems
