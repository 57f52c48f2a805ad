"""Classifies the user tasks by what they need of untrusted results in `quarantine`.

    python3 classify.py [--lists]

A task is classified twice: by the arguments of its calls, and by its answer to the user. See
`plan.py` for the kinds. The reason is printed behind them.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from typing import Any

from plan import Kind, Obstacle, Value, make_plan
from suites import SUITES, Trial, is_read_only, trials

NAMES = {
    Kind.TRUSTED: "none",
    Kind.CLOSED: "closed",
    Kind.REFERENCE: "pointer",
    Kind.PART: "part",
    Kind.WRITTEN: "written",
    Kind.FREE: "free",
}

ORDER = list(Obstacle)


@dataclass
class Task:
    """What a user task needs."""

    name: str
    arguments: Value
    answer: Value
    effects: int
    """Calls with an effect that get a value by reference: each may become a question."""
    obstacles: frozenset[Obstacle]
    """What makes arguments more than values at pointers."""


def classify(trial: Trial) -> Task:
    """Classifies a task by its plan."""
    plan = make_plan(trial)
    worst = Value(Kind.TRUSTED, None)
    obstacles: set[Obstacle] = set()
    effects = 0
    for step in plan.steps:
        kind = step.value.kind
        if kind > worst.kind:
            why = f"{step.function}: {step.value.why}" if step.value.why else ""
            worst = Value(kind, None, why)
        obstacles |= step.value.obstacles
        effects += kind >= Kind.REFERENCE and not is_read_only(step.function)
    return Task(trial.name, worst, plan.answer, effects, frozenset(obstacles))


def table(tasks: list[Task]) -> str:
    """Returns the counts of each kind, for each suite and all."""
    lines = ["suite        " + "".join(f"{name:>9}" for name in NAMES.values()) + "    total"]
    for part in ("arguments", "answer"):
        lines.append(f"-- {part}")
        for suite in (*SUITES, ""):
            some = [getattr(task, part) for task in tasks if task.name.startswith(suite)]
            kinds = Counter(value.kind for value in some)
            cells = "".join(f"{kinds[kind]:9}" for kind in Kind)
            lines.append(f"{suite or 'all':13}{cells}{len(some):9}")
    return "\n".join(lines)


def line(task: Task) -> str:
    """Returns the kinds of a task, and why a text is free."""
    kinds = f"{NAMES[task.arguments.kind]:8} {NAMES[task.answer.kind]:8}"
    reasons = [task.arguments.why, f"answer: {task.answer.why}" if task.answer.why else ""]
    return f"{task.name:27} {kinds} {'; '.join(filter(None, reasons))}".rstrip()


def summary(tasks: list[Task]) -> dict[str, Any]:
    """Returns the figures that bound what `quarantine` can reach."""
    possible = [task for task in tasks if task.arguments.kind is not Kind.FREE]
    narrow = [task for task in tasks if task.arguments.kind <= Kind.REFERENCE]
    told = [task.answer.kind for task in possible]
    hardest = Counter(max(task.obstacles, key=ORDER.index) for task in tasks if task.obstacles)
    return {
        "no free text as an argument": len(possible),
        "of these, also no text of a reader as an argument": len(narrow),
        "of these, also no reference in the answer": sum(
            task.answer.kind < Kind.REFERENCE for task in narrow
        ),
        "no free text as an argument, and no reference in the answer": sum(
            kind < Kind.REFERENCE for kind in told
        ),
        "tasks that pass a reference to a call with an effect": sum(
            task.effects > 0 for task in possible
        ),
        "calls with an effect that get a reference": sum(task.effects for task in possible),
        **{f"at worst have to {obstacle}": hardest[obstacle] for obstacle in ORDER},
        "all": len(tasks),
    }


def main() -> None:
    """Prints the list, the table and the bounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lists", action="store_true", help="return joined names as lists")
    lists = parser.parse_args().lists
    tasks = [classify(trial) for trial in trials(list(SUITES), False, lists=lists)]
    print("task                        arguments answer  reason")
    print("\n".join(map(line, tasks)))
    print(table(tasks))
    for name, number in summary(tasks).items():
        print(f"{number:4} {name}")


if __name__ == "__main__":
    main()
