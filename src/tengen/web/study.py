"""A tree of moves to walk through: a record with its variations, and what is tried beside them.

Nodes have numbers, 0 being the start; the first child of a node is its main line. Of an SGF everything is kept: what a
study adds is put into the text of the file, and all else stays as it was, byte for byte (`games/go/sgf_text.py`). The
records of other games have their main line only.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from tengen.games.game import AnyGame, Record, game_of
from tengen.games.go import BLACK, EMPTY, PASS, WHITE, State
from tengen.games.go.coordinates import from_sgf, to_sgf
from tengen.games.go.sgf import SgfError, read_record, replay, resumed
from tengen.games.go.sgf_text import SgfNode, SgfTree, declared, decoded, escaped
from tengen.games.state import RESIGN
from tengen.serve.review import PositionEstimate
from tengen.web.inputs import NO_RECORD, read_any, suffix_of

MOST_NODES: Final = 5_000
_MOST_GAMES: Final = 500  # of a collection that are offered
_COLORS: Final = {"B": BLACK, "W": WHITE}
_SETUP: Final = {"AB": BLACK, "AW": WHITE, "AE": EMPTY}
_LONGEST_COMMENT: Final = 10_000


@dataclass(frozen=True)
class Source:
    """The record that a study began with."""

    text: str
    encoding: str = "utf-8"
    game: int = 0
    """Which one, where a file has several."""

    @property
    def is_sgf(self) -> bool:
        """Whether it looks like one."""
        return suffix_of(self.text) == ".sgf"

    @staticmethod
    def of(record: bytes | str, game: int = 0) -> "Source":
        """A file, or what somebody pasted, which is written in the encoding that it declares."""
        if isinstance(record, bytes):
            return Source(*decoded(record), game)
        return Source(record, declared(record.encode("utf-8", "replace")) or "utf-8", game)

    def encoded(self, text: str) -> bytes:
        """A text as bytes of this record; in UTF-8 where its own encoding lacks a character."""
        try:
            return text.encode(self.encoding)
        except UnicodeError:
            return text.encode("utf-8", "replace")


@dataclass
class Node:
    """A position in the tree."""

    state: Any
    parent: int
    move: str
    children: list[int] = field(default_factory=list)
    comment: str = ""
    estimate: PositionEstimate | None = None
    place: int | None = None
    """The node of the record that this is; None: it was added."""


class Study:
    """The tree, and where one is in it."""

    def __init__(self, state: Any, names: tuple[str, str] = ("", ""), result: str = "") -> None:
        self.nodes: list[Node] = [Node(state, -1, "")]
        self.at = 0
        self.names, self.result = names, result
        self.source: Source | None = None
        self.read = 1
        """How many of the nodes come from the source."""
        self.games: list[str] = []
        """The games of the file, where it has several."""
        self._tree: SgfTree | None = None

    @property
    def game(self) -> AnyGame:
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

    def write(self) -> tuple[str, bytes]:
        """The name of a file, and what it holds: the record with variations and comments added."""
        name = f"study{self.game.suffix}"
        if self.source is not None and not self.is_changed:
            return name, self.source.encoded(self.source.text)
        if self._tree is not None and self.source is not None:
            return name, self.source.encoded(_changed_sgf(self, self._tree))
        if self.game.name == "go":
            return name, _new_sgf(self).encode("utf-8", "replace")
        line = self.main_line()
        comments = {place: comment_of(self.nodes[number], self.game) for place, number in enumerate(line)}
        record = Record(*self.names, result=self.result, comments=comments)
        return name, self.game.write(self.nodes[line[-1]].state, record)

    @property
    def is_changed(self) -> bool:
        """Whether a save would differ from the record that was read."""
        return len(self.nodes) > self.read or any(node.estimate is not None for node in self.nodes)

    def came_from(self, source: Source, tree: SgfTree | None = None) -> "Study":
        """The same study, which knows what it was read from."""
        self.source, self.read, self._tree = source, len(self.nodes), tree
        return self


def read_study(record: bytes | str | Source, game: int = 0) -> Study:
    """The study of a record; ValueError if it is none that can be read."""
    source = record if isinstance(record, Source) else Source.of(record, game)
    if source.is_sgf:
        return _read_sgf(source)
    if not source.text.strip():
        raise ValueError(NO_RECORD)
    return study_of(read_any(source.text)).came_from(source)


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


def comment_of(node: Node, game: AnyGame) -> str:
    """A node's comment with what analysis says of it."""
    return f"{node.comment}\n{analysis_of(node, game)}".strip()


def analysis_of(node: Node, game: AnyGame) -> str:
    """What analysis says of a node, in words."""
    judged = node.estimate
    if judged is None or not judged.visits:
        return ""
    first, second = game.players
    leader = first if judged.chance >= 0.5 else second
    text = f"{leader} {max(judged.chance, 1 - judged.chance):.1%}"
    if judged.score is not None:
        text += f", {first if judged.score >= 0 else second}+{abs(judged.score):.1f}"
    text += f" ({judged.visits} visits)"
    if judged.line:
        text += f". Best: {' '.join(judged.line[:8])}"
    return text


# ------------------------------------------------------------------------------------------------ SGF


def _read_sgf(source: Source) -> Study:
    """One game with all its variations. The main line must be legal; a variation ends where it is not."""
    tree = SgfTree(source.text)
    if not tree.roots or tree.is_cut_off:
        raise SgfError(f"not an SGF file: {'it ends before the game does' if tree.roots else 'no SGF in it'}")
    if not 0 <= source.game < len(tree.roots):
        raise ValueError(f"the file has no game {source.game + 1}: it has {len(tree.roots)}")
    top = tree.roots[source.game]
    record = read_record(_alone(tree.nodes[top]))
    first = _first_color(tree, top)
    if first and "PL" not in tree.nodes[top].values:
        record = replace(record, to_play=first)
    study = Study(replay(replace(record, moves=())), (record.black_name, record.white_name), record.result)
    study.nodes[0].place = top
    if len(tree.roots) > 1:
        study.games = [_title(tree.nodes[root]) for root in tree.roots[:_MOST_GAMES]]
    main = True  # until the first variation has been followed to its end
    todo = [(top, 0)]
    while todo and len(study.nodes) < MOST_NODES:
        number, parent = todo.pop()
        try:
            end = _follow(study, tree.nodes[number], number, parent)
        except ValueError as error:
            if main and isinstance(error, SgfError):
                raise
            end = None
        children = tree.nodes[number].children if end is not None else []
        main = main and bool(children)
        todo.extend((child, end) for child in reversed(children) if end is not None)
    return study.came_from(source, tree)


def _follow(study: Study, node: SgfNode, number: int, parent: int) -> int:
    """Add what a node of the record sets up and plays; the number of the last node of the study that it made.

    SgfError: a move that is not legal. Another ValueError: stones that cannot be set up.
    """
    is_start = study.nodes[parent].place == number
    if not is_start and not _SETUP.keys().isdisjoint(node.values):
        parent = study.add(parent, _set_up(study.nodes[parent].state, node), "")
        study.nodes[parent].place = number
    for name, color in _COLORS.items():
        for raw in node.values.get(name, [])[:1]:
            state = study.nodes[parent].state
            try:
                move = from_sgf(raw.strip(), state.size)
            except ValueError as error:
                raise SgfError(f"move {state.move_number + 1} ({name}): {error}") from None
            if state.is_over and state.last_move == PASS:
                if move == PASS:
                    continue
                state = resumed(state, color)
            try:
                after = state.play(move, color)
            except ValueError as error:
                raise SgfError(f"move {state.move_number + 1} ({name}): {error}") from None
            parent = study.add(parent, after, state.move_name(move))
            study.nodes[parent].place = number
    if "C" in node.values:
        here = study.nodes[parent]
        here.comment = f"{here.comment}\n{node.text('C')}".strip()[:_LONGEST_COMMENT]
    return parent


def _set_up(state: State, node: SgfNode) -> State:
    """The position with the stones of a node put on and taken off."""
    stones = state.stones.ravel()
    for name, color in _SETUP.items():
        for value in node.values.get(name, []):
            first, colon, last = value.strip().partition(":")
            if not first:
                continue
            start = from_sgf(first, state.size)
            end = from_sgf(last, state.size) if colon else start
            if PASS in (start, end):
                raise ValueError("a set-up stone is not on the board")
            (top, left), (bottom, right) = divmod(start, state.size), divmod(end, state.size)
            grid = stones.reshape(state.size, state.size)
            grid[min(top, bottom) : max(top, bottom) + 1, min(left, right) : max(left, right) + 1] = color
    to_play = _COLORS.get(node.text("PL").strip()[:1].upper(), state.to_play)
    black, white = (np.flatnonzero(stones == color).tolist() for color in (BLACK, WHITE))
    return State.setup(state.size, state.rules, state.komi, black, white, to_play, state.handicap)


def _first_color(tree: SgfTree, top: int) -> int:
    """Who makes the first move of the main line, 0 if nobody does."""
    number = top
    while True:
        node = tree.nodes[number]
        for name in node.values:
            if name in _COLORS:
                return _COLORS[name]
        if not node.children:
            return EMPTY
        number = node.children[0]


def _alone(root: SgfNode) -> bytes:
    """A record with the root alone and no move, in UTF-8."""
    values = {name: values for name, values in root.values.items() if name not in ("CA", "B", "W")}
    parts = (f"{name}{''.join(f'[{value}]' for value in each)}" for name, each in values.items())
    return f"(;{''.join(parts)})".encode("utf-8", "replace")


def _title(root: SgfNode) -> str:
    """What a game of a collection is called in a list."""
    names = " – ".join(filter(None, (root.text("PB"), root.text("PW"))))
    words = (root.text("GN"), names, root.text("EV"), root.text("DT"), root.text("RE"))
    return " · ".join(filter(None, (" ".join(word.split()) for word in words)))[:120]


def _changed_sgf(study: Study, tree: SgfTree) -> str:
    """The record with comments of the analysis and with variations that were added."""
    values, words, additions = dict[int, dict[str, str]](), dict[int, str](), dict[int, str]()
    for node in study.nodes:
        if node.place is None:
            continue
        if node.estimate is not None:
            values[node.place] = {"SBKV": _win_rate(node.estimate)}
            if analysis_of(node, study.game):
                words[node.place] = analysis_of(node, study.game)
        added = [child for child in node.children if child >= study.read]
        if added:
            text = "".join(f"({_line_text(study, child)})" for child in added)
            additions[node.place] = additions.get(node.place, "") + text
    return tree.with_changes(values, words, additions)


def _new_sgf(study: Study) -> str:
    """A study that was not read from a record."""
    root = study.nodes[0]
    names = {"first": study.names[0], "second": study.names[1], "result": study.result}
    record = Record(**names, comments={0: comment_of(root, study.game)})
    head = study.game.write(root.state, record).decode("utf-8").rstrip().removesuffix(")")
    return f"{head}{_children_text(study, root)})\n"


def _line_text(study: Study, number: int) -> str:
    """A node with all that follows it."""
    parts = list[str]()
    todo: list[int | str] = [number]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            parts.append(item)
        else:
            parts.append(_node_text(study, study.nodes[item]))
            todo.extend(_variations(study.nodes[item]))
    return "".join(parts)


def _children_text(study: Study, node: Node) -> str:
    if len(node.children) == 1:
        return _line_text(study, node.children[0])
    return "".join(f"({_line_text(study, child)})" for child in node.children)


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
    if node.estimate is not None:
        text += f"SBKV[{_win_rate(node.estimate)}]"
    return text + (f"C[{escaped(comment)}]" if comment else "")


def _win_rate(estimate: PositionEstimate) -> str:
    """Black's, as Sabaki shows it."""
    return f"{estimate.chance * 100:.1f}"
