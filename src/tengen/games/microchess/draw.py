"""A Microchess board as text for terminals and as SVG for notebooks and pages."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from tengen.games.microchess.board import BLACK_PIECE, FILES, RANKS, SQUARES, WHITE
from tengen.games.microchess.notation import FILE_NAMES, PIECES, move_parts
from tengen.games.state import RESIGN

if TYPE_CHECKING:
    from tengen.games.microchess.state import State

_SOLID = " ♟♞♝♜♛♚"  # the full shapes are drawn for both colours, and coloured
_LIGHT, _DARK, _LAST = "#f0d9b5", "#b58863", "#f7ec59"


def board_text(state: "State") -> str:
    """The board with coordinates, capitals White's, the last move's square in brackets."""
    last = _last_target(state)
    letters = "   " + " ".join(FILE_NAMES)
    lines = [letters]
    for rank in reversed(range(RANKS)):
        line = ""
        for square in range(rank * FILES, (rank + 1) * FILES):
            glyph = PIECES[state.piece_at(square)]
            if square == last:
                line += f"({glyph})"
            else:
                line += ("" if line.endswith(")") else " ") + glyph
        lines.append(f" {rank + 1}{line}{'' if line.endswith(')') else ' '}{rank + 1}")
    return "\n".join([*lines, letters, _status(state)])


def _status(state: "State") -> str:
    if state.is_over:
        return f"Result: {state.result()} ({state.end_reason})"
    last = ""
    if state.previous is not None and state.last_move is not None:
        last = f"Last move: {state.move_name(state.last_move)} ({state.previous.move_san(state.last_move)}). "
    return f"{last}{'White' if state.to_play == WHITE else 'Black'} to play{', in check' if state.in_check else ''}."


def _last_target(state: "State") -> int | None:
    if state.last_move is None or state.last_move == RESIGN:
        return None
    return move_parts(state.last_move)[1]


def board_svg(
    state: "State",
    cell: int = 48,
    *,
    heat: Mapping[int, float] | None = None,
    labels: Mapping[int, str] | None = None,
    arrow: int | None = None,
) -> str:
    """The board as a self-contained SVG picture, White below.

    On it, if wanted: a heat map, of shares 0 to 1 by square; a short text on squares; an arrow for one move.
    """
    edge = cell // 2
    width, height = cell * FILES + 2 * edge, cell * RANKS + 2 * edge

    def corner(square: int) -> tuple[int, int]:
        return edge + cell * (square % FILES), edge + cell * (RANKS - 1 - square // FILES)

    last = () if state.last_move is None or state.last_move == RESIGN else move_parts(state.last_move)[:2]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for square in range(SQUARES):
        x, y = corner(square)
        fill = _LAST if square in last else _LIGHT if (square % FILES + square // FILES) % 2 else _DARK
        parts.append(f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="{fill}"/>')
        share = min(1.0, max(0.0, (heat or {}).get(square, 0.0)))
        if share:
            parts.append(
                f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="#1257ff" fill-opacity="{share**0.4:.3f}"/>'
            )
    parts.append(_coordinates(cell, edge))
    size, line = f"{cell * 0.85:.0f}", f"{cell * 0.02:.1f}"
    parts.append(f'<g font-size="{size}" text-anchor="middle" stroke="#222" stroke-width="{line}">')
    for square in range(SQUARES):
        piece = state.piece_at(square)
        if piece:
            x, y = corner(square)
            fill, figure = ("#fff", _SOLID[piece]) if piece <= BLACK_PIECE else ("#111", _SOLID[piece - BLACK_PIECE])
            # U+FE0E asks for the plain shape, not the coloured picture that some systems draw for a pawn
            parts.append(f'<text x="{x + cell // 2}" y="{y + cell * 0.8:.0f}" fill="{fill}">{figure}&#xFE0E;</text>')
    parts.append("</g>")
    if arrow is not None and arrow >= 0:
        parts.append(_arrow(corner(move_parts(arrow)[0]), corner(move_parts(arrow)[1]), cell))
    if labels:
        parts.append(
            f'<g font-family="sans-serif" font-size="{cell * 0.3:.0f}" font-weight="bold" text-anchor="middle" '
            f'fill="#fff" stroke="#08235e" stroke-width="{cell * 0.06:.1f}" paint-order="stroke">'
        )
        for square, text in labels.items():
            x, y = corner(square)
            parts.append(f'<text x="{x + cell // 2}" y="{y + cell * 0.6:.0f}">{escape(text)}</text>')
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _coordinates(cell: int, edge: int) -> str:
    parts = [f'<g font-family="sans-serif" font-size="{cell * 0.3:.0f}" text-anchor="middle" fill="#555">']
    for file, letter in enumerate(FILE_NAMES):
        x = edge + cell * file + cell // 2
        parts.append(f'<text x="{x}" y="{edge + cell * RANKS + edge * 0.7:.0f}">{letter}</text>')
    for rank in range(RANKS):
        y = edge + cell * (RANKS - 1 - rank) + cell * 0.6
        parts.append(f'<text x="{edge // 2}" y="{y:.0f}">{rank + 1}</text>')
    return "".join([*parts, "</g>"])


def _arrow(source: tuple[int, int], target: tuple[int, int], cell: int) -> str:
    (x1, y1), (x2, y2) = ((x + cell / 2, y + cell / 2) for x, y in (source, target))
    return (
        f'<g stroke="#d6204e" stroke-width="{cell * 0.1:.1f}" stroke-opacity="0.8" fill="#d6204e">'
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        f'<circle cx="{x2:.1f}" cy="{y2:.1f}" r="{cell * 0.12:.1f}" stroke="none"/></g>'
    )
