"""A tree of moves to walk through: a record with its variations, and what is tried beside them.

Nodes have numbers, 0 being the start; the first child of a node is its main line. SGF is read and written with all its
variations, the records of other games with their main line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sgfmill import sgf_grammar

from tengen.games.game import Game, Record, game_of
from tengen.games.go import BLACK, WHITE
from tengen.games.go.coordinates import from_sgf, to_sgf
from tengen.games.go.sgf import as_utf8, read_record, read_sgf, replay
from tengen.games.state import FIRST, RESIGN
from tengen.web.records import read_any

MOST_NODES: Final = 5_000
_COLORS: Final = (("B", BLACK), ("W", WHITE))
_SETUP: Final = ("AB", "AW", "AE")


@dataclass(frozen=True)
class Judgement:
    """What the best analysis of a position so far says, as the first player sees it."""

    visits: int
    chance: float
    score: float | None
    best: str
    """The name of the move that it would play; empty where the game is over."""
    line: tuple[str, ...] = ()


@dataclass
class Node:
    """A position in the tree."""

    state: Any
    parent: int
    move: str
    children: list[int] = field(default_factory=list)
    comment: str = ""
    judgement: Judgement | None = None


class Study:
    """The tree, and where one is in it."""

    def __init__(self, state: Any, names: tuple[str, str] = ("", ""), result: str = "") -> None:
        self.nodes: list[Node] = [Node(state, -1, "")]
        self.at = 0
        self.names, self.result = names, result

    @property
    def game(self) -> Game:
        """The game's object."""
        return game_of(self.nodes[0].state)

    def node(self, number: int) -> Node:
        """The node of this number; ValueError if there is none."""
        if not 0 <= number < len(self.nodes):
            raise ValueError("there is no such position in this study")
        return self.nodes[number]

    def play(self, number: int, move: str) -> int:
        """The number of the node after a move, a new one where nobody has tried it; ValueError says why not."""
        node = self.node(number)
        chosen = node.state.parse_move(move)
        if chosen == RESIGN:
            raise ValueError("a resignation is no move to study")
        name = node.state.move_name(chosen)
        for child in node.children:
            if self.nodes[child].move == name:
                return child
        return self.add(number, node.state.play(chosen), name)

    def add(self, parent: int, state: Any, move: str) -> int:
        """A new last child."""
        if len(self.nodes) >= MOST_NODES:
            raise ValueError(f"a study has {MOST_NODES} positions at most")
        self.nodes.append(Node(state, parent, move))
        self.nodes[parent].children.append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def main_line(self) -> list[int]:
        """The numbers of the nodes of the main line, the start first."""
        line = [0]
        while self.nodes[line[-1]].children:
            line.append(self.nodes[line[-1]].children[0])
        return line

    def write(self) -> tuple[str, str]:
        """The name of a file, and what it holds: the tree with comments."""
        suffix = self.game.suffix
        if self.game.name == "go":
            return f"study{suffix}", _write_sgf(self)
        line = self.main_line()
        comments = {place: comment_of(self.nodes[number], self.game) for place, number in enumerate(line)}
        record = Record(*self.names, result=self.result, comments=comments)
        return f"study{suffix}", self.game.write(self.nodes[line[-1]].state, record).decode("utf-8")


def read_study(text: str) -> Study:
    """The study of a record; ValueError if it is none that can be read."""
    if text.lstrip("\ufeff \t\r\n").startswith("("):
        return _read_sgf(text.encode("utf-8", "replace"))
    return study_of(read_any(text))


def study_of(state: Any, names: tuple[str, str] = ("", "")) -> Study:
    """The game that led to a state."""
    states = [state]
    while states[-1].previous is not None:
        states.append(states[-1].previous)
    study = Study(states.pop(), names, state.result() if state.is_over else "")
    while states:
        after = states.pop()
        if after.last_move == RESIGN:
            break
        study.add(len(study.nodes) - 1, after, after.previous.move_name(after.last_move))
    return study


def comment_of(node: Node, game: Game) -> str:
    """A node's comment with what analysis says of it."""
    judged = node.judgement
    if judged is None or not judged.visits:
        return node.comment
    first, second = game.players
    leader = first if judged.chance >= 0.5 else second
    text = f"{leader} {max(judged.chance, 1 - judged.chance):.1%}"
    if judged.score is not None:
        text += f", {first if judged.score >= 0 else second}+{abs(judged.score):.1f}"
    text += f" ({judged.visits} visits)"
    if judged.line:
        text += f". Best: {' '.join(judged.line[:8])}"
    return f"{node.comment}\n{text}".strip()


# ------------------------------------------------------------------------------------------------ SGF


def _read_sgf(data: bytes) -> Study:
    """All variations of the first game. The main line must be legal; a variation ends where it is not."""
    game = read_sgf(data)
    start = replay(replace(read_record(data), moves=()))
    study = Study(start, (game.black_name, game.white_name), game.result)
    try:
        tree = sgf_grammar.parse_sgf_game(as_utf8(data))
    except ValueError:  # the main line can be read and the rest cannot
        return study_of(game.state, (game.black_name, game.white_name))
    todo: list[tuple[Any, int]] = [(tree, 0)]
    while todo and len(study.nodes) < MOST_NODES:
        branch, parent = todo.pop()
        end = _follow(study, branch.sequence, parent, branch is tree)
        if end is not None:
            todo.extend((child, end) for child in reversed(branch.children))
    study.at = 0
    return study


def _follow(study: Study, sequence: list[Any], parent: int, has_root: bool) -> int | None:
    """Add the moves of a sequence of nodes; returns the last node, or None if it cannot be followed to its end."""
    for place, properties in enumerate(sequence):
        node, state = study.nodes[parent], study.nodes[parent].state
        if not (has_root and place == 0) and any(name in properties for name in _SETUP):
            return None
        for name, color in _COLORS:
            for raw in properties.get(name, [])[:1]:
                if len(study.nodes) >= MOST_NODES or state.is_over:
                    return None
                try:
                    move = from_sgf(raw.decode("latin-1").strip(), state.size)
                    after = state.play(move, color)
                except ValueError:
                    return None
                parent = study.add(parent, after, state.move_name(move))
                node, state = study.nodes[parent], after
        if "C" in properties:
            text = sgf_grammar.text_value(properties["C"][0]).decode("utf-8", "replace")
            node.comment = f"{node.comment}\n{text}".strip()[:10_000]
    return parent


def _write_sgf(study: Study) -> str:
    root = study.nodes[0]
    names = {"first": study.names[0], "second": study.names[1], "result": study.result}
    comments: Mapping[int, str] = {0: comment_of(root, study.game)}
    head = study.game.write(root.state, Record(**names, comments=comments)).decode("utf-8").rstrip()
    parts = [head.removesuffix(")")]
    todo: list[int | str] = [")", *_variations(root)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            parts.append(item)
        else:
            parts.append(_node_text(study, study.nodes[item]))
            todo.extend(_variations(study.nodes[item]))
    return "".join(parts) + "\n"


def _variations(node: Node) -> list[int | str]:
    """A node's children in brackets if they are several, the last to be written first."""
    if len(node.children) < 2:
        return list(node.children)
    return [item for child in reversed(node.children) for item in (")", child, "(")]


def _node_text(study: Study, node: Node) -> str:
    before = study.nodes[node.parent].state
    color = "B" if node.state.last_color == BLACK else "W"
    text = f";{color}[{to_sgf(before.parse_move(node.move), before.size)}]"
    comment = comment_of(node, study.game)
    if node.judgement is not None:
        text += f"SBKV[{node.judgement.chance * 100:.1f}]"  # the win rate of Black, as Sabaki shows it
    if comment:
        text += f"C[{sgf_grammar.escape_text(comment.encode('utf-8', 'replace')).decode('utf-8')}]"
    return text


def first_chance(state: Any, chance: float) -> float:
    """A chance of the player to move as one of the first player."""
    return chance if state.to_play == FIRST else 1 - chance
