"""A made-up game for tests of search: a position is a number, and a script says all there is to know of it.

Action a leads from position n to 5 n + a + 1; the game begins at 0, so that 5 n + a + 1 spells the way to a position
in digits: `at(2, 0)` is where action 0 leads after action 2. The network is the script, too, and it notes what it was
asked.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import BatchedGame
from tengen.search.tree import Trees

ACTIONS = 4
_MANY = 100_003  # positions; deep ones share their numbers


class Said(NamedTuple):
    """What a script says of a position; the values are those of the player to move."""

    value: float
    priors: tuple[float, ...] = (0.25, 0.25, 0.25, 0.25)  # 0: the action is not legal
    over: bool = False


Script = Callable[[int], Said]


def at(*actions: int) -> int:
    """The position that these actions lead to."""
    number = 0
    for action in actions:
        number = (5 * number + action + 1) % _MANY
    return number


def script_of(said: Mapping[int, Said]) -> Script:
    """The script that a table holds; what is not in it must not be asked."""
    return lambda number: said[number]


class Games(NamedTuple):
    """B made-up games."""

    number: NDArray[np.int64]  # [B]


class ScriptedGame(BatchedGame):
    """A `BatchedGame` that reads from a script, and its own encoder."""

    planes, height, width, actions, branching = 1, 1, 8, ACTIONS, ACTIONS

    def __init__(self, script: Script) -> None:
        self.script = script

    @property
    def batch(self) -> Self:
        return self

    @property
    def encoder(self) -> Any:
        return self

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.planes, self.height, self.width

    def allocate(self, count: int) -> Games:
        return Games(np.zeros(count, np.int64))

    def restart(self, games: Games, index: NDArray[np.int64]) -> None:
        games.number[index] = 0

    def copy(self, source: Games, source_index: Any, target: Games, target_index: Any) -> None:
        target.number[target_index] = source.number[source_index]

    def play(self, games: Games, actions: NDArray[np.int64]) -> None:
        for i, action in enumerate(actions):
            if action >= 0:
                games.number[i] = (5 * games.number[i] + action + 1) % _MANY

    def follow(self, roots: Games, index: Any, paths: Any, lengths: Any, leaves: Games) -> None:
        for leaf, root in enumerate(index):
            number = int(roots.number[root])
            for action in paths[leaf, : lengths[leaf]]:
                number = (5 * number + int(action) + 1) % _MANY
            leaves.number[leaf] = number

    def judge(self, games: Games, count: int, legal: Any, over: Any, values: Any) -> None:
        for i in range(count):
            said = self.script(int(games.number[i]))
            over[i] = said.over
            legal[i] = [prior > 0 and not said.over for prior in said.priors]
            values[i] = said.value if said.over else 0.0

    def encode_games(self, games: Games, count: int, planes: NDArray[np.uint8]) -> None:
        planes[:count, 0, 0] = games.number[:count, None].view(np.uint8)

    def to_play(self, games: Games) -> NDArray[np.int8]:
        raise NotImplementedError

    def load(self, games: Games, i: int, state: int) -> None:
        games.number[i] = state


class ScriptedNetwork:
    """The script as an evaluator."""

    architecture: Any = None

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[list[int]] = []

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        numbers = planes.reshape(len(planes), 8).copy().view(np.int64)[:, 0].tolist()
        self.asked.append(numbers)
        said = [self.script(number) for number in numbers]
        assert not any(answer.over for answer in said), "a finished game was evaluated"
        with np.errstate(divide="ignore"):  # ln 0 of what is not legal, which nobody may look at
            logits = np.log(np.array([answer.priors for answer in said], np.float32))
        return np.where(np.isfinite(logits), logits, 77.0), np.array([answer.value for answer in said], np.float32)


def wild_script(seed: int = 0, values: float = 0.8, ends: float = 0.15) -> Script:
    """A script without end that never repeats a value: some actions are illegal, some positions are over."""

    def said(number: int) -> Said:
        rng = np.random.default_rng([seed, number])
        priors = rng.dirichlet(np.ones(ACTIONS))
        priors[rng.random(ACTIONS) < 0.2] = 0
        if priors.sum() == 0:
            priors[0] = 1
        if number and rng.random() < ends:
            return Said(float(rng.integers(-1, 2)), over=True)
        return Said(float(values * rng.uniform(-1, 1)), tuple((priors / priors.sum()).tolist()))

    return said


# ------------------------------------------------------------------------------------- looking at trees


class Node(NamedTuple):
    """A node of a tree with all that is below it."""

    visits: int
    value_sum: float
    value: float
    stage: int
    children: dict[int, "Node"]
    priors: dict[int, float]
    logits: dict[int, float]
    rollout_sum: float = 0.0


def look(trees: Trees, b: int = 0, node: int = 0) -> Node:
    """A tree as nested tables, whatever its nodes' numbers are."""
    first, count = int(trees.first_child[b, node]), int(trees.child_count[b, node])
    children = range(first, first + count)
    return Node(
        int(trees.visits[b, node]),
        float(trees.value_sum[b, node]),
        float(trees.value[b, node]),
        int(trees.stage[b, node]),
        {int(trees.action[b, child]): look(trees, b, child) for child in children},
        {int(trees.action[b, child]): float(trees.prior[b, child]) for child in children},
        {int(trees.action[b, child]): float(trees.logit[b, child]) for child in children},
        float(trees.rollout_sum[b, node]) if trees.rollout_sum.shape[1] else 0.0,
    )


def visits_and_sums(node: Node) -> dict[int, tuple[int, float]]:
    """N and W of a node's children."""
    return {action: (child.visits, round(child.value_sum, 5)) for action, child in node.children.items()}
