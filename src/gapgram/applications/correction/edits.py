"""What turns one word into another: letters put in, left out, replaced, and neighbours swapped."""

from __future__ import annotations

Edit = tuple[str, str]  # the letters meant and the letters written; "" for none

START = "^"


def core(meant: str, written: str) -> tuple[str, str, str]:
    """(letter before, meant, written) of what differs, without what is the same at both ends.

    >>> core("receive", "recieve")
    ('c', 'ei', 'ie')
    """
    begin, most = 0, min(len(meant), len(written))
    while begin < most and meant[begin] == written[begin]:
        begin += 1
    end = 0
    while end < most - begin and meant[-1 - end] == written[-1 - end]:
        end += 1
    return meant[begin - 1] if begin else START, meant[begin : len(meant) - end], written[begin : len(written) - end]


def edits_between(meant: str, written: str, most: int) -> list[Edit] | None:
    """The fewest edits that make what was written of what was meant; None where they are more than `most`.

    A letter put in or left out is told with the letter before it.

    >>> edits_between("receive", "recieve", 2), edits_between("cat", "cart", 2), edits_between("cat", "dog", 2)
    ([('ei', 'ie')], [('a', 'ar')], None)
    """
    before, a, b = core(meant, written)
    if abs(len(a) - len(b)) > most or max(len(a), len(b)) > 3 * most:
        return None
    rows: list[list[tuple[int, list[Edit]]]] = []
    for i in range(len(a) + 1):
        row: list[tuple[int, list[Edit]]] = []
        for j in range(len(b) + 1):
            row.append(_best(a, b, i, j, before, rows, row))
        rows.append(row)
    cost, edits = rows[-1][-1]
    return edits if cost <= most else None


def _best(
    a: str, b: str, i: int, j: int, before: str, rows: list[list[tuple[int, list[Edit]]]],
    row: list[tuple[int, list[Edit]]],
) -> tuple[int, list[Edit]]:  # fmt: skip
    """The fewest edits that make b[:j] of a[:i]; `rows` has those of shorter beginnings, `row` those of a[:i]."""
    if i == 0 and j == 0:
        return 0, []
    last = a[i - 1] if i else before
    choices = []
    if i and j:
        cost, edits = rows[i - 1][j - 1]
        same = a[i - 1] == b[j - 1]
        choices.append((cost, edits) if same else (cost + 1, [*edits, (a[i - 1], b[j - 1])]))
    if i > 1 and j > 1 and a[i - 2 : i] == b[j - 1] + b[j - 2]:
        cost, edits = rows[i - 2][j - 2]
        choices.append((cost + 1, [*edits, (a[i - 2 : i], b[j - 2 : j])]))
    if i:
        cost, edits = rows[i - 1][j]
        earlier = a[i - 2] if i > 1 else before
        choices.append((cost + 1, [*edits, (earlier + a[i - 1], earlier)]))
    if j:
        cost, edits = row[j - 1]
        choices.append((cost + 1, [*edits, (last, last + b[j - 1])]))
    return min(choices, key=lambda choice: choice[0])
