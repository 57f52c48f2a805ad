"""Docstrings as prose: they are wrapped for an editor, and models and users read them as
paragraphs.
"""

import inspect


def reflow(docstring: str | None) -> str:
    """Joins the lines of each paragraph. Blank lines and list items stay."""
    out = ""
    after_blank = False
    for line in inspect.cleandoc(docstring or "").splitlines():
        line = line.strip()
        if not line:
            after_blank = True
            continue
        if out:
            item = line.startswith(("- ", "* "))
            out += "\n\n" if after_blank else "\n" if item else " "
        out += line
        after_blank = False
    return out
