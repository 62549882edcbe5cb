"""Text from files and other programs, made safe for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return ``text`` with escapes in place of control characters, which could take over a terminal.

    >>> print(printable("a\x1b[31mb\n∇"))
    a\x1b[31mb\n∇
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
