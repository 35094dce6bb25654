"""Every name that a point of the board has, in one place; and the board drawn with them.

| system      | top left, 9x9 | top right | bottom left | bottom right | pass      | used by                       |
|-------------|---------------|-----------|-------------|--------------|-----------|-------------------------------|
| move (flat) | 0             | 8         | 72          | 80           | -1        | State, agents, records    |
| row, column | 0, 0          | 0, 8      | 8, 0        | 8, 8         | -         | arrays [size, size], pictures |
| cell        | 11            | 19        | 91          | 99           | 0         | kernels (padded grid)         |
| policy      | 0             | 8         | 72          | 80           | size*size | networks, legal masks         |
| GTP         | A9            | J9        | A1          | J1           | pass      | people, engines (no letter I) |
| SGF         | aa            | ia        | ai          | ii           | (empty)   | game records                  |

Row 0 is the top row, as printed and as in SGF; GTP counts rows from the bottom. `RESIGN` (-2) is a move
without a point. SGF also writes a pass as `tt` on boards up to 19x19.
"""

import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Final

from tengen.games.go.board import BLACK, MAX_SIZE, MIN_SIZE, WHITE
from tengen.games.state import PASS as PASS
from tengen.games.state import RESIGN as RESIGN

if TYPE_CHECKING:
    from tengen.games.go.state import State

GTP_COLUMNS: Final = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
_SGF_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_VERTEX = re.compile(r"([A-HJ-Za-hj-z])([1-9][0-9]?)")


def check_size(size: int) -> int:
    """The size itself, or a ValueError that names the sizes there are."""
    if not MIN_SIZE <= size <= MAX_SIZE:
        raise ValueError(f"board size {size} is not possible: choose from {MIN_SIZE} to {MAX_SIZE}")
    return size


def to_cell(move: int, size: int) -> int:
    """Cell of the padded grid for a point; the inverse of `from_cell`."""
    row, col = divmod(move, size)
    return (row + 1) * (size + 1) + col + 1


def from_cell(cell: int, size: int) -> int:
    """Point for a cell of the padded grid."""
    row, col = divmod(cell, size + 1)
    return (row - 1) * size + col - 1


def to_policy(move: int, size: int) -> int:
    """Index of a point or PASS in a policy of size * size + 1 entries."""
    return size * size if move == PASS else move


def from_policy(index: int, size: int) -> int:
    """Point or PASS for an index of a policy."""
    return PASS if index == size * size else index


def to_gtp(move: int, size: int) -> str:
    """`D4`, `pass` or `resign`."""
    if move == PASS:
        return "pass"
    if move == RESIGN:
        return "resign"
    row, col = divmod(move, size)
    return f"{GTP_COLUMNS[col]}{size - row}"


def from_gtp(text: str, size: int) -> int:
    """The move that a person or an engine names, in either case; ValueError if there is no such point."""
    word = text.strip()
    if word.lower() == "pass":
        return PASS
    if word.lower() == "resign":
        return RESIGN
    match = _VERTEX.fullmatch(word)
    if match is None:
        raise ValueError(f"{text[:20]!r} is not a point: write a letter and a number, such as C3, or pass")
    col, row = GTP_COLUMNS.index(match[1].upper()), size - int(match[2])
    if col >= size or row < 0:
        raise ValueError(f"{word} is outside the {size}x{size} board (A1 to {GTP_COLUMNS[size - 1]}{size})")
    return row * size + col


def to_sgf(move: int, size: int) -> str:
    """`dd`, or the empty string for a pass."""
    if move == PASS:
        return ""
    row, col = divmod(move, size)
    return _SGF_LETTERS[col] + _SGF_LETTERS[row]


def from_sgf(text: str, size: int) -> int:
    """The move of an SGF point; empty, and `tt` up to 19x19, is a pass; ValueError if outside the board."""
    if text == "" or (text == "tt" and size <= 19):
        return PASS
    if len(text) == 2 and text[0] in _SGF_LETTERS[:size] and text[1] in _SGF_LETTERS[:size]:
        return _SGF_LETTERS.index(text[1]) * size + _SGF_LETTERS.index(text[0])
    raise ValueError(f"{text[:20]!r} is not an SGF point of a {size}x{size} board")


def star_points(size: int) -> list[int]:
    """The marked points of the board, as players know it."""
    if size < 5:
        return []
    edge, middle = (2 if size < 13 else 3), size // 2
    lines = {edge, size - 1 - edge}
    points = {(r, c) for r in lines for c in lines}
    if size % 2 == 1:
        points.add((middle, middle))
        if size >= 13:
            points |= {(middle, c) for c in lines} | {(r, middle) for r in lines}
    return sorted(r * size + c for r, c in points)


def max_fixed_handicap(size: int) -> int:
    """How many stones GTP's fixed handicap allows on this size: 9 on odd sizes from 9, 4 on even ones and 7."""
    if size < 7:
        return 0
    return 9 if size % 2 == 1 and size >= 9 else 4


def fixed_handicap(size: int, stones: int) -> list[int]:
    """Where the GTP specification puts 2 to 9 handicap stones; ValueError where it has no places."""
    most = max_fixed_handicap(size)
    if not 2 <= stones <= most:
        places = f"2 to {most} stones" if most else "none"
        raise ValueError(f"{stones} fixed handicap stones on {size}x{size} are not possible: it takes {places}")
    near = 2 if size < 13 else 3
    far, middle = size - 1 - near, size // 2
    corners = [(far, near), (near, far), (far, far), (near, near)]
    sides = [(middle, near), (middle, far), (far, middle), (near, middle)]
    points = corners[: min(stones, 4)]
    if stones >= 6:
        points += sides[:2]
    if stones >= 8:
        points += sides[2:]
    if stones in (5, 7, 9):
        points.append((middle, middle))
    return [r * size + c for r, c in points]


# ------------------------------------------------------------------- the board as text and as a picture

_GLYPHS = {BLACK: "X", WHITE: "O"}


def board_text(state: "State") -> str:
    """The board with coordinates: X Black, O White, + a star point, the last move in brackets."""
    size, stones, stars = state.size, state.stones, set(star_points(state.size))
    letters = "   " + " ".join(GTP_COLUMNS[:size])
    lines = [letters]
    for row in range(size):
        line = ""
        for col in range(size):
            move = row * size + col
            glyph = _GLYPHS.get(int(stones[row, col]), "+" if move in stars else ".")
            if move == state.last_move:
                line += f"({glyph})"
            else:
                line += (" " if not line.endswith(")") else "") + glyph
        line = line if line.endswith(")") else line + " "
        lines.append(f"{size - row:2d}{line}{size - row}")
    lines.append(letters)
    lines.append(_status(state))
    return "\n".join(lines)


def _status(state: "State") -> str:
    by_black, by_white = state.captures
    status = f"Captured by Black {by_black}, by White {by_white}."
    if state.is_over:
        return f"{status} Result: {state.result()}"
    player = "Black (X)" if state.to_play == BLACK else "White (O)"
    last = f" Last move: {to_gtp(state.last_move, state.size)}." if state.last_move is not None else ""
    return f"{status}{last} {player} to play."


def board_svg(
    state: "State",
    cell: int = 24,
    *,
    heat: Mapping[int, float] | None = None,
    labels: Mapping[int, str] | None = None,
    ring: int | None = None,
) -> str:
    """The board as a self-contained SVG picture.

    On it, if wanted: a heat map, of shares 0 to 1 by point; a short text on points; a ring around one point.
    """
    size, stones = state.size, state.stones
    width = cell * (size + 1)
    end = cell * size

    def at(index: int) -> int:
        return cell * (index + 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{width}" viewBox="0 0 {width} {width}">',
        f'<rect width="{width}" height="{width}" fill="#dcb35c"/>',
        '<g stroke="#5a4520" stroke-width="1">',
    ]
    for i in range(size):
        parts.append(f'<line x1="{cell}" y1="{at(i)}" x2="{end}" y2="{at(i)}"/>')
        parts.append(f'<line x1="{at(i)}" y1="{cell}" x2="{at(i)}" y2="{end}"/>')
    parts.append(f'</g><g font-family="sans-serif" font-size="{cell * 0.4:.0f}" text-anchor="middle" fill="#5a4520">')
    for i in range(size):
        parts.append(f'<text x="{at(i)}" y="{cell * 0.45:.0f}">{GTP_COLUMNS[i]}</text>')
        parts.append(f'<text x="{cell * 0.3:.0f}" y="{at(i) + cell * 0.14:.0f}">{size - i}</text>')
    parts.append("</g>")
    for star in star_points(size):
        parts.append(f'<circle cx="{at(star % size)}" cy="{at(star // size)}" r="{cell * 0.1:.1f}" fill="#5a4520"/>')
    for point, share in (heat or {}).items():
        x, y, side = at(point % size) - cell * 0.46, at(point // size) - cell * 0.46, cell * 0.92
        opacity = min(1.0, max(0.0, share)) ** 0.4
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" rx="{cell * 0.2:.1f}" '
            f'fill="#1257ff" fill-opacity="{opacity:.3f}"/>'
        )
    for row in range(size):
        for col in range(size):
            if stones[row, col]:
                fill = "#111" if stones[row, col] == BLACK else "#f8f8f8"
                parts.append(
                    f'<circle cx="{at(col)}" cy="{at(row)}" r="{cell * 0.46:.1f}" fill="{fill}" stroke="#333"/>'
                )
    if state.last_move is not None and state.last_move >= 0:
        row, col = divmod(state.last_move, size)
        mark = "#f8f8f8" if state.color_at(state.last_move) == BLACK else "#111"
        parts.append(
            f'<circle cx="{at(col)}" cy="{at(row)}" r="{cell * 0.2:.1f}" fill="none" stroke="{mark}" stroke-width="2"/>'
        )
    if labels:
        parts.append(
            f'<g font-family="sans-serif" font-size="{cell * 0.55:.0f}" font-weight="bold" text-anchor="middle" '
            f'fill="#fff" stroke="#08235e" stroke-width="{cell * 0.1:.1f}" paint-order="stroke">'
        )
        for point, text in labels.items():
            x, y = at(point % size), at(point // size) + cell * 0.2
            parts.append(f'<text x="{x}" y="{y:.1f}">{escape(text)}</text>')
        parts.append("</g>")
    if ring is not None and ring >= 0:
        parts.append(
            f'<circle cx="{at(ring % size)}" cy="{at(ring // size)}" r="{cell * 0.48:.1f}" fill="none" '
            f'stroke="#d6204e" stroke-width="{cell * 0.12:.1f}"/>'
        )
    parts.append("</svg>")
    return "".join(parts)
