#!/usr/bin/env bash
# Kills the workflow `chain` with SIGKILL at random times, resumes it until it ends, and reads in the
# journal what became of its three writes: each took place once, or is in doubt and says so.
#
#   survive.sh [ROUNDS]    20 without an argument; $AGENT_HOST names the program
set -euo pipefail

rounds=${1:-20}
if ! [[ $rounds =~ ^[1-9][0-9]{0,5}$ ]]; then
    echo "error: the number of rounds is a number from 1 to 999999, not \`$rounds\`; try: $0 20" >&2
    exit 2
fi
if ! program=$(command -v "${AGENT_HOST:-agent-host}"); then
    echo "error: there is no program \`${AGENT_HOST:-agent-host}\`; install it, or set AGENT_HOST to its path" >&2
    exit 2
fi
program=$(realpath "$program")
here=$(cd "$(dirname "$0")" && pwd)

# The kills of one round. After them the program runs to its end, however slow the machine is.
most_kills=4

work=$(mktemp -d)
took=0 kills=0 once=0 doubt=0 lost=0 twice=0

# A round with a fault keeps its files.
finish() {
    if ((lost + twice > 0)); then
        echo "the files and the journal of the last round are in $work" >&2
    else
        rm -rf "$work"
    fi
}
trap finish EXIT

# agent-host COMMAND...: in the copy of this directory, with a state directory of its own.
agent_host() {
    cd "$work/copy"
    exec "$program" "$@" --config agent.toml --state-dir "$work/state"
}

# Writes the events of the session to $work/events. Fails if there is none yet.
read_events() {
    (agent_host sessions show latest --json) > "$work/events" 2> /dev/null
}

fail() {
    echo "error: $1; the last run said:" >&2
    cat "$work/said" >&2
    exit 1
}

milliseconds() {
    # Before version 5, bash has no clock.
    local now=${EPOCHREALTIME:-0.000000}
    echo $((10#${now//[.,]/} / 1000))
}

# play [KILL]: starts the workflow or resumes it. With KILL, the program is killed after a random
# time of at most $window ms, unless it has ended by then. $took is how long it ran, in ms.
play() {
    local command=(run --resume latest) began delay pid
    if ! read_events; then
        command=(run --workflow chain go)
    elif grep -q '"kind":"turn-ended"' "$work/events"; then
        return
    fi
    began=$(milliseconds)
    (agent_host "${command[@]}") > /dev/null 2> "$work/said" &
    pid=$!
    if [[ ${1:-} == kill ]]; then
        delay=$((RANDOM % window + 3))
        sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
        kill -KILL "$pid" 2> /dev/null || true
    fi
    # The shell reports a job that was killed; what the program did is in the journal.
    { wait "$pid" || (($? != 137)) || kills=$((kills + 1)); } 2> /dev/null
    took=$(($(milliseconds) - began))
}

new_round() {
    rm -rf "${work:?}"/*
    mkdir "$work/copy"
    cp -R "$here/agent.toml" "$here/notes" "$here/scripts" "$work/copy"
}

# check FILE INTENDED SETTLED: a write whose events in $work/events have these texts.
check() {
    local file=$work/copy/out/$1 intended settled results
    intended=$(grep -c "$2" "$work/events" || true)
    settled=$(grep "$3" "$work/events" || true)
    results=$(grep -c . <<< "$settled" || true)
    if ((intended > 1 || results > 1)) || [[ $settled == *'"created":false'* ]]; then
        twice=$((twice + 1))
        echo "$1 was written twice" >&2
    elif [[ $settled == *'"created":true'* && -s $file ]]; then
        once=$((once + 1))
    elif [[ $settled == *'"code":"interrupted-unknown"'* ]]; then
        doubt=$((doubt + 1))
    else
        lost=$((lost + 1))
        echo "$1 was not written, and the journal does not say so" >&2
    fi
}

check_round() {
    local session
    read_events || fail "the session cannot be read"
    [[ $(grep -c '"kind":"workflow-ended"' "$work/events") == 1 ]] || fail "the workflow has not ended"
    check one.txt '"kind":"node-intended","node":"one"' '"kind":"node-settled","node":"one"'
    check three.txt '"kind":"node-intended","node":"three"' '"kind":"node-settled","node":"three"'
    # The second write is the only call in the session of the agent `clerk`.
    session=$(sed -n 's/.*"kind":"agent-spawned","session":"\([0-9a-f-]*\)".*/\1/p' "$work/events")
    (agent_host sessions show "$session" --json) > "$work/events" 2> /dev/null ||
        fail "the session of the agent cannot be read"
    check two.txt '"kind":"call-intended"' '"kind":"call-settled"'
    ((lost + twice == 0)) || exit 1
}

# The first run compiles the tools; the second one is as long as the others.
for _ in 1 2; do
    new_round
    play
    check_round
done
window=$((took > 0 ? took : 100))
once=0

for ((round = 1; round <= rounds; round++)); do
    new_round
    for ((killing = 0; killing < most_kills; killing++)); do
        play kill
    done
    play
    check_round
done
echo "$rounds rounds, $kills kills, $((rounds * 3)) writes: $once once, $doubt in doubt and said so, $lost lost, $twice twice"
