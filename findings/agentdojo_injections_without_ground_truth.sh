#!/usr/bin/env bash
# agentdojo 0.1.35, the injection tasks of benchmark version v1.2.2.
#
# Guess: each injection task whose goal is a call has a ground truth, the calls that reach the goal,
# as each user task has. So a model that plays the ground truths is the worst case, without a
# language model, and every attack that a defence does not stop reaches its goal.
# Behaviour: the ground truths of eight of the 14 injection tasks of `workspace`, those that came
# with later versions, are empty lists, though their goals are calls (mails, events, files). Played,
# they do nothing, so any defence stops them: 320 of the 949 pairs of a user task and an attack. The
# library's own check of the suite fails for just these tasks. One more, in `travel`, needs no call.
# Seen:
#   banking: 9 injection tasks, 0 without calls, check passes
#   slack: 5 injection tasks, 0 without calls, check passes
#   travel: 7 injection tasks, 1 without calls, check passes
#   workspace: 14 injection tasks, 8 without calls, check fails for those 8
#
# Needs Python 3. Fails if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check agentdojo==0.1.35

cat > count.py << 'PY'
from agentdojo.task_suite.load_suites import get_suites

for name, suite in sorted(get_suites("v1.2.2").items()):
    tasks = suite.injection_tasks
    world = suite.load_and_inject_default_environment
    empty = [id for id, task in tasks.items() if not task.ground_truth(world({}))]
    passes, (_, injections) = suite.check(check_injectable=False)
    failing = [id for id, reached in injections.items() if not reached]
    told = "passes" if passes else "fails for others"
    if failing and failing == empty:
        told = f"fails for those {len(empty)}"
    print(f"{name}: {len(tasks)} injection tasks, {len(empty)} without calls, check {told}")
PY
venv/bin/python -W ignore count.py 2> errors > seen
cat seen
diff seen - << 'SEEN'
banking: 9 injection tasks, 0 without calls, check passes
slack: 5 injection tasks, 0 without calls, check passes
travel: 7 injection tasks, 1 without calls, check passes
workspace: 14 injection tasks, 8 without calls, check fails for those 8
SEEN
