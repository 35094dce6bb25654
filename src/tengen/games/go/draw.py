"""A Go board as text for terminals and as SVG for notebooks and pages."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from tengen.games.go.board import BLACK, WHITE
from tengen.games.go.coordinates import GTP_COLUMNS, star_points, to_gtp

if TYPE_CHECKING:
    from tengen.games.go.state import State

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
