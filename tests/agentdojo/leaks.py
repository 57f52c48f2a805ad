"""Looks for untrusted text in what is sent to a model whose results are references."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from plan import leaves
from suites import CANARY, Trial

Json = dict[str, Any]

# The fewest characters of a text whose occurrence in a request is not chance.
LEAST = 16


def leak_in(request: Json, trial: Trial) -> str:
    """Returns untrusted text in a request; empty if there is none.

    It looks for each line of the injections and each text of the results so far. The model's own
    messages are what the model knows without reading, so only the injection's mark counts there,
    and an error that repeats a JSON pointer of the model is not a leak.
    """
    if CANARY in json.dumps(request):
        return CANARY
    own = [one for one in request["messages"] if one["role"] == "assistant"]
    sent = "\n".join(_strings([one for one in request["messages"] if one not in own]))
    known = "\n".join([trial.user_task.PROMPT, *_strings(own)])
    found = (text for text in _untrusted(trial) if text in sent and text not in known)
    return next(found, "")


def _untrusted(trial: Trial) -> Iterator[str]:
    texts = [leaf.value for result in trial.results for leaf in leaves(0, result)]
    for text in [*texts, trial.injected_text]:
        if isinstance(text, str):
            yield from (line for line in text.splitlines() if len(line) >= LEAST)


def _strings(value: Any) -> Iterator[str]:
    """Yields the strings of a message, also those inside of JSON texts."""
    match value:
        case str():
            yield value
            try:
                inner = json.loads(value)
            except ValueError:
                return
            if isinstance(inner, dict | list):
                yield from _strings(inner)
        case dict():
            for key, item in value.items():
                yield key
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
