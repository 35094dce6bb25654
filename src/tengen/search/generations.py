"""Generations of value networks (the Simple-Go lecture): their files, their values, and alpha-beta over these.

A generation has a network for each player, or one for both:

    runs/simple-go-k3.5/models/black-04.safetensors     positions after Black's moves
    runs/simple-go-k3.5/models/white-04.safetensors     positions after White's moves

`GenerationValues` evaluates positions by it, for tree search and for games in lock-step. `ValueTreeSearch` is
alpha-beta with the networks at the leaves, all children of a node as one batch; at depth 1 it is the greedy player of
the lecture.
The values of a node's children also order them, so that the best one is searched first. Values are those of the
networks, -1 to 1; a finished game is worth its result. As in `lockstep.ValuePlay`, only sensible moves are considered.
The kernels of `alphabeta` are not used here, because nearly all the time goes to the network: it evaluates some fifteen
positions at a time.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.encode.encoder import get_encoder
from tengen.games.batch import BatchedGame, GameArrays
from tengen.games.state import AnyState
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.nets.model_file import SUFFIX, ModelCard, ModelFileError, find_model, read_card
from tengen.search.leaves import (
    AfterMoves,
    LeafEvaluation,
    Leaves,
    NetworkEvaluation,
    PolicyAndValue,
    UniformPolicy,
    new_leaves,
)
from tengen.search.lockstep import consider, make_children
from tengen.search.minimax import Budget, BudgetSpent

MODELS_FOLDER = "models"


class Generation(NamedTuple):
    """The files of a generation: the networks for positions after the first player's moves and after the second's."""

    first: Path | None
    second: Path | None

    @property
    def card(self) -> ModelCard:
        """The card of one of them."""
        path = self.first or self.second
        assert path is not None
        return read_card(path)


def generation_numbers(run: Path) -> list[int]:
    """The generations whose networks a run directory has, from 1 on."""
    found: dict[int, set[str]] = {}
    for path in (run / MODELS_FOLDER).glob(f"*-[0-9]*{SUFFIX}"):
        side, _, number = path.name.removesuffix(SUFFIX).rpartition("-")
        if number.isdecimal():
            found.setdefault(int(number), set()).add(side)
    return sorted(number for number, sides in found.items() if len(sides) > 1 or sides == {"both"})


def model_file(run: Path, side: str, number: int) -> Path:
    """The file of a network of a run: `models/black-04.safetensors`."""
    return run / MODELS_FOLDER / f"{side}-{number:02d}{SUFFIX}"


def find_generation(model: str | Path, number: int = 0) -> Generation:
    """The networks of a generation, by the directory of its run or by the file of one of them.

    `number`: of a run, which generation; 0: the newest. Beside a file, that of the other player is found by its number.
    """
    run = Path(model).expanduser()
    if run.is_dir():
        known = generation_numbers(run)
        if not known or number not in (0, *known):
            which = f"generation {number}" if known else "generations"
            there = f": choose from {known[0]} to {known[-1]}" if known else ""
            raise ModelFileError(f"{run} holds no {which} of value networks{there}")
        paths = (run / MODELS_FOLDER).glob(f"*-{number or known[-1]:02d}{SUFFIX}")
        return _sorted(sorted(paths))
    if number:
        raise ModelFileError(f"{model} is one model: leave generation= out, or give the directory of a run")
    path = find_model(model)
    side, _, of = path.name.removesuffix(SUFFIX).rpartition("-")
    beside = path.parent.glob(f"*-{of}{SUFFIX}") if side and of.isdecimal() else ()
    return _sorted([path, *(other for other in sorted(beside) if other != path)])


def _sorted(paths: list[Path]) -> Generation:
    """The networks by whose moves they are for; the first of several that are for the same."""
    first, second, of = None, None, read_card(paths[0])
    for path in paths:
        card = read_card(path)
        if card.network != "simple-go" or (card.game, card.size, card.encoder) != (of.game, of.size, of.encoder):
            continue
        after = card.arguments.get("after")
        first = first or (path if after in ("first", "both") else None)
        second = second or (path if after in ("second", "both") else None)
    if first is None and second is None:
        raise ModelFileError(f"{paths[0]} is no value network of `tengen learn generations`: take another agent for it")
    return Generation(first, second)


# --------------------------------------------------------------------------------------------- values


CACHE = 1 << 18
"""Positions whose value is remembered, for each of the networks."""


class GenerationValues:
    """The networks of a generation, loaded once; `evaluation` serves one thread."""

    def __init__(self, files: Generation, backend: str = "fastest", streams: int = 1) -> None:
        """`streams`: how many evaluations of it work at a time."""
        self.card = files.card
        self.encoder = get_encoder(self.card.encoder)
        loaded: dict[str, Evaluator] = {}
        for path in filter(None, files):
            if str(path) not in loaded:
                loaded[str(path)] = load_evaluator(path, backend, streams=streams)[0]
        self._first, self._second = (loaded.get(str(path)) for path in files)
        self.has_policy = all(evaluator.architecture.policy for evaluator in loaded.values())
        """Whether they also say which moves are likely to be good."""

    def evaluation(self, game: BatchedGame, cache: int = CACHE, *, policy: bool = False) -> AfterMoves:
        """Values of positions, for another thread at each call. Of a player whose network is missing there are none.

        `policy`: with their policy, which they must have.
        """
        if self._first is self._second and self._first is not None:
            both = NetworkEvaluation(game, self.encoder, self._first.another(), cache, policy=policy)
            return AfterMoves(game, both, both)
        return AfterMoves(game, *(self._of(game, each, cache, policy) for each in (self._first, self._second)))

    def with_policy(self, game: BatchedGame, cache: int = CACHE) -> LeafEvaluation:
        """The same with a policy, for tree search: theirs, or all moves alike where they have none."""
        if self.has_policy:
            return self.evaluation(game, cache, policy=True)
        return PolicyAndValue(UniformPolicy(), self.evaluation(game, cache))

    def _of(
        self, game: BatchedGame, evaluator: Evaluator | None, cache: int, policy: bool
    ) -> "NetworkEvaluation | _Missing":
        if evaluator is None:
            return _Missing()
        return NetworkEvaluation(game, self.encoder, evaluator.another(), cache, policy=policy)


class _Missing:
    """In place of a network that is not there."""

    def evaluate(self, *_: object) -> int:
        """Nobody can."""
        raise ValueError(
            "the network of the other player is missing beside this one: give the directory of a run, which has both"
        )

    def warm_up(self, most: int) -> None:
        """Nothing to wait for."""

    def another(self) -> "_Missing":
        """It has no state."""
        return self


# ------------------------------------------------------------------------------------------ tree search


@dataclass(frozen=True)
class ValueTreeResult:
    """What a search found, by actions."""

    values: dict[int, float]
    """The value of every considered action to the player to move, -1 to 1; of actions that were cut off, a bound."""
    line: tuple[int, ...] = ()
    """The line of best play."""
    depth: int = 0


@dataclass
class _Level:
    """Room for the children of one node."""

    boards: GameArrays
    leaves: Leaves
    parent: NDArray[np.int64]
    action: NDArray[np.int64]


class ValueTreeSearch:
    """Alpha-beta over the positions of one game."""

    def __init__(self, game: BatchedGame, evaluation: LeafEvaluation, top: int = 0) -> None:
        """`top`: consider so many moves of a position at most, those that the evaluation's policy, which it must then
        have, likes best; 0: all."""
        self._game, self._evaluation, self._top = game, evaluation, top
        self._root, self._root_leaf = game.allocate(1), new_leaves(1, game.actions if top else 0)
        self._levels: list[_Level] = []
        self._budget = Budget()

    def run(self, state: AnyState, depth: int = 1, budget: Budget | None = None) -> ValueTreeResult:
        """Search deeper and deeper, to `depth` plies or the end of the budget, of which a node is a batch of children.

        The first ply is always searched. The game may not be over.
        """
        if depth < 1:
            raise ValueError(f"alpha-beta cannot search {depth} plies: give a depth of at least 1")
        self._game.load(self._root, 0, state)
        if self._top:
            self._evaluation.evaluate(self._root, 1, self._root_leaf)
        self._budget = Budget()
        result = self._search_root(1)
        self._budget = budget or self._budget
        for plies in range(2, depth + 1):
            try:
                result = self._search_root(plies)
            except BudgetSpent:
                break
        return result

    def _search_root(self, depth: int) -> ValueTreeResult:
        values: dict[int, float] = {}
        _, line = self._search(self._root, 0, 0, depth, -np.inf, np.inf, self._root_leaf.logits[0], values)
        return ValueTreeResult(values, tuple(line), depth)

    def _search(
        self,
        boards: GameArrays,
        slot: int,
        ply: int,
        depth: int,
        alpha: float,
        beta: float,
        logits: NDArray[np.float32],
        values: dict[int, float] | None = None,
    ) -> tuple[float, list[int]]:
        """The value of a position, which is not over, to the player to move, and the best line; `logits`: what the
        policy says of its actions, float32[A]; `values`: those of its actions are written there."""
        self._budget.spend()
        level = self._level(ply)
        count = self._children(level, boards, slot, logits)
        over, leaves = level.leaves.over, level.leaves
        found = -np.where(over[:count], leaves.results[:count], leaves.values[:count]).astype(np.float64)
        best, line = -np.inf, list[int]()
        for k in np.argsort(-found, kind="stable").tolist():
            value, rest = float(found[k]), list[int]()
            if depth > 1 and not over[k]:
                window = -beta, -max(alpha, best)
                lower, rest = self._search(level.boards, k, ply + 1, depth - 1, *window, leaves.logits[k])
                value = -lower
            action = int(level.action[k])
            if values is not None:
                values[action] = value
            if value > best:
                best, line = value, [action, *rest]
            if best >= beta:
                break
        return best, line

    def _children(self, level: _Level, boards: GameArrays, slot: int, logits: NDArray[np.float32]) -> int:
        """Set up and evaluate the children of a position that are considered; returns how many they are."""
        movers = np.full(slot + 1, -1, np.int64)
        movers[slot] = 0
        legal = np.zeros((slot + 1, self._game.actions), np.bool_)
        consider(boards, movers, legal, np.empty(slot + 1, np.int64))
        if self._top:
            actions = np.flatnonzero(legal[slot])
            legal[slot, actions[np.argsort(-logits[actions], kind="stable")[self._top :]]] = False
        leaves = level.leaves
        _, count = make_children(
            boards, np.array([slot]), 0, legal, level.boards, level.parent, level.action, leaves.over, leaves.results
        )
        leaves.over[count:] = True
        self._evaluation.evaluate(level.boards, count, leaves)
        return int(count)

    def _level(self, ply: int) -> _Level:
        while len(self._levels) <= ply:
            room = self._game.actions
            leaves = new_leaves(room, room if self._top else 0)
            boards = self._game.allocate(room)
            self._levels.append(_Level(boards, leaves, np.zeros(room, np.int64), np.zeros(room, np.int64)))
        return self._levels[ply]
