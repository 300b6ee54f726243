"""Equations as MathML, which browsers draw without a script.

    >>> equations_as_mathml("The sum $a + b$.").startswith("The sum <math")
    True
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert

# Code is left alone: it is matched first.
_CODE_OR_EQUATION = re.compile(
    r"(?P<code>^```.*?^```$|^(?: {4}|\t).*?$|`[^`\n]+`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\n]+)\$",
    re.DOTALL | re.MULTILINE,
)


def equations_as_mathml(page: str) -> str:
    """The page with its equations, `$…$` and `$$…$$`, as MathML."""
    return _CODE_OR_EQUATION.sub(_mathml, page)


def _mathml(found: re.Match[str]) -> str:
    if found["code"]:
        return found["code"]
    latex = found["block"] or found["inline"]
    text = convert(latex.strip(), display="block" if found["block"] else "inline")
    text = text.replace("_", "&#95;").replace("*", "&#42;")  # which Markdown would read
    return f'<div class="equation">{text}</div>' if found["block"] else text
