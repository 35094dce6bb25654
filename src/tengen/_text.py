"""Foreign text in our messages: without control characters, which could move a terminal's cursor, and on one line."""


def printable(text: str) -> str:
    """The text with a question mark for every character that is no letter, digit, sign or space.

    >>> printable("red: \\x1b[31m")
    'red: ?[31m'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def one_line(text: str, longest: int = 200) -> str:
    """The text on one line of at most `longest` characters, printable.

    >>> one_line("a long\\n  story", 9)
    'a long s…'
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"
