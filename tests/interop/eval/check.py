"""Reads the reports of `agent-host eval` with the parsers of others.

Prints the suites and the cases that `junitparser` reads from the first file, as JSON. A fault that
`html5lib` finds in the second file is an exception."""

import json
import sys

import html5lib
from junitparser import JUnitXml

junit, html = sys.argv[1:]
with open(html, "rb") as page:
    html5lib.HTMLParser(strict=True).parse(page)
suites = []
for suite in JUnitXml.fromfile(junit):
    cases = [[case.name, [[type(result).__name__, result.text] for result in case.result]] for case in suite]
    counted = [suite.tests, suite.failures, suite.errors]
    # Counted anew from the cases, by the library.
    suite.update_statistics()
    if counted != [suite.tests, suite.failures, suite.errors]:
        raise SystemExit(f"{suite.name} counts {counted}")
    suites.append([suite.name, counted, cases])
print(json.dumps(suites))
