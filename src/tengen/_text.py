"""Foreign text in our messages: without control characters, which could move a terminal's cursor, and on one line."""


def printable(text: str, instead: str = "?", *, lines: bool = False) -> str:
    """The text with a question mark for every character that is no letter, digit, sign or space.

    `lines`: line ends stay.

    >>> printable("red: \\x1b[31m"), printable("a\\x07\\nb", " ", lines=True)
    ('red: ?[31m', 'a \\nb')
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or (lines and letter == "\n") else instead for letter in text)


def one_line(text: str, longest: int | None = 200) -> str:
    """The text on one line of at most `longest` characters, printable; None: of any length.

    >>> one_line("a long\\n  story", 9)
    'a long s…'
    """
    line = printable(" ".join(text.split()))
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"
