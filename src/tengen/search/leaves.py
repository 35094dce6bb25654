"""What a tree search asks of a leaf: how likely each action is to be good, and who is winning.

| evaluation            | policy            | value                            | cached |
|-----------------------|-------------------|----------------------------------|--------|
| `NetworkEvaluation`   | the network's     | the network's                    | yes    |
| `UniformPolicy`       | all alike         | -                                | no     |
| `PolicyAndValue`      | of the first      | of the second                    | as they are |
| `AfterMoves`          | of one or the other | of one for the positions after each player's moves | as they are |
| `PlayoutEvaluation`   | all alike         | the mean of some playouts        | no     |
| `MixedEvaluation`     | of the first      | (1 - lambda) first + lambda other | as they are |
| `KnownPositions`      | -                 | exact, where it is known; else as the evaluation behind it says |

An evaluation sees the positions themselves. PUCT with playouts is plain Monte-Carlo tree search, in every game;
AlphaGo's search mixes a network, or two, with playouts. An evaluation serves one thread; `another` makes one for
another thread.
"""

import copy
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.batch import BatchedGame, GameArrays
from tengen.games.kernels import copy as copy_game
from tengen.games.kernels import playout
from tengen.search.evaluation_cache import EvaluationCache, fill_in, look_up, new_cache

if TYPE_CHECKING:
    from tengen.encode.encoder import Encoder
    from tengen.nets.evaluator import Evaluator

_AT_ONCE = 4096  # positions that a network sees together: larger batches leave the processor's cache


class Leaves(NamedTuple):
    """Up to L leaves under evaluation, each a position in the game's own arrays.

    >>> import tengen
    >>> tengen.Leaves._fields
    ('legal', 'over', 'results', 'logits', 'values', 'rollouts', 'expands')
    """

    legal: NDArray[np.bool_]  # [L, A]
    over: NDArray[np.bool_]  # [L] finished, or known exactly: nothing is asked about these
    results: NDArray[np.float32]  # [L] what those are worth to the player to move
    logits: NDArray[np.float32]  # [L, A] for the others, the logarithm of how likely each action is, up to a constant
    values: NDArray[np.float32]  # [L] and their value to the player to move, -1 to 1
    rollouts: NDArray[np.float32]  # [L] and what rollouts alone say, where an evaluation has some
    expands: NDArray[np.bool_]  # [L] whether a leaf is to be given children now: of the others no logits are needed


def new_leaves(count: int, actions: int) -> Leaves:
    """Room for `count` leaves."""
    return Leaves(
        np.zeros((count, actions), np.bool_),
        np.zeros(count, np.bool_),
        np.zeros(count, np.float32),
        np.zeros((count, actions), np.float32),
        np.zeros(count, np.float32),
        np.zeros(count, np.float32),
        np.ones(count, np.bool_),
    )


class LeafEvaluation(Protocol):
    """Evaluates leaves in batches: what your own network has to do. `docs/search.md` has an example.

    >>> import tengen
    >>> game = tengen.get_game("tictactoe")
    >>> batch = game.batch(game.options())
    >>> evaluation: tengen.LeafEvaluation = tengen.PlayoutEvaluation(batch, seed=1)
    """

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Fill in logits and values of the first `count` games that are not over; returns how many were computed.

        What is known exactly may be set to be over, with its result.
        """
        ...

    def warm_up(self, most: int) -> None:
        """Do once what the first calls, of up to `most` positions, would else have to wait for."""
        ...

    def another(self) -> "LeafEvaluation":
        """The same for another thread, which shares nothing with this one but what is known of positions."""
        ...


class NetworkEvaluation:
    """A network's policy and value. What it has said of the same planes is remembered.

    >>> import numpy as np
    >>> import tengen
    >>> model, game = tengen.load_model("go5"), tengen.get_game("go")
    >>> batch = game.batch(game.options.of({"size": 5, "komi": 3.5}), model.encoder.past)
    >>> network = tengen.NetworkEvaluation(batch, model.encoder, model.evaluator)
    >>> result = tengen.Searcher(batch, network, tengen.Puct()).search(batch.allocate(1), np.arange(1), simulations=32)
    >>> int(result.chosen[0])  # the centre
    12
    """

    def __init__(
        self,
        game: BatchedGame,
        encoder: "Encoder",
        evaluator: "Evaluator",
        cache: int | EvaluationCache = 1 << 14,
        *,
        policy: bool = True,
        value: bool = True,
    ) -> None:
        """`policy`, `value`: what is wanted of the two; for the policy alone, only leaves that expand are asked for."""
        self.evaluator, self._encoder = evaluator, encoder
        self._shape = (encoder.planes, game.height, game.width)
        self._policy, self._value = policy, value
        self._cache = new_cache(cache, game.actions if policy else 0) if isinstance(cache, int) else cache
        self._turn = threading.Lock()  # for the cache, which threads share
        self._make_room(1)

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Ask the network for what the cache does not know."""
        skip = leaves.over if self._value else leaves.over | ~leaves.expands
        if skip[:count].all():
            return 0
        if count > len(self._planes):
            self._make_room(len(leaves.over))
        self._encoder.encode_games(games, count, self._planes)
        flat = self._planes.reshape(len(self._planes), -1)
        found = (
            leaves.logits if self._policy else leaves.logits[:, :0],
            leaves.values if self._value else self._unwanted,
        )
        with self._turn:
            room = self._keys, self._source, self._missing, self._claimed
            wanted = int(look_up(self._cache, flat, skip, count, *room, *found))
        if wanted:
            fresh = self._ask(wanted)
            with self._turn:
                fill_in(self._cache, count, self._keys, self._source, self._missing, *fresh, *found)
        return wanted

    def another(self) -> Self:
        """Of the same network and cache."""
        twin = copy.copy(self)
        twin.evaluator = self.evaluator.another()
        twin._make_room(1)
        return twin

    def _ask(self, wanted: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What the network says of the first planes, as far as it is wanted."""
        parts = [self._planes[k : min(k + _AT_ONCE, wanted)] for k in range(0, wanted, _AT_ONCE)]
        found = [self.evaluator.evaluate(part) for part in parts]
        logits, values = found[0] if len(found) == 1 else _joined(found)
        if not self._value:
            values = self._unwanted[:wanted]
        elif values is None:
            raise ValueError("tree search needs a network with a value head, and this one has none")
        return logits if self._policy else logits[:, :0], values

    def warm_up(self, most: int) -> None:
        """Ask for batches of all sizes, for each of which the network may get ready anew."""
        self._make_room(most)
        for count in range(1, most + 1):
            self.evaluator.evaluate(self._planes[:count])

    def _make_room(self, count: int) -> None:
        self._planes = np.zeros((count, *self._shape), np.uint8)
        self._keys, self._source = np.zeros(count, np.uint64), np.zeros(count, np.int64)
        self._missing = np.zeros(count, np.int64)
        self._claimed = np.zeros(2 << (count - 1).bit_length(), np.int64)
        self._unwanted = np.zeros(count, np.float32)


def _joined(
    parts: Sequence[tuple[NDArray[np.float32], NDArray[np.float32] | None]],
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """The evaluations of several batches as those of one."""
    values = [value for _, value in parts if value is not None]
    return np.concatenate([logits for logits, _ in parts]), np.concatenate(values) if values else None


class UniformPolicy:
    """Every legal action is equally likely; about values it says nothing."""

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Nothing is computed."""
        leaves.logits[:count] = 0.0
        return 0

    def warm_up(self, most: int) -> None:
        """Nothing to wait for."""

    def another(self) -> Self:
        """It has no state."""
        return self


class PolicyAndValue:
    """The policy of one evaluation and the value of another, each of which leaves out the rest: AlphaGo's two networks.

    >>> import numpy as np
    >>> import tengen
    >>> model, game = tengen.load_model("go5"), tengen.get_game("go")
    >>> batch = game.batch(game.options.of({"size": 5, "komi": 3.5}), model.encoder.past)
    >>> policy = tengen.NetworkEvaluation(batch, model.encoder, model.evaluator, value=False)
    >>> value = tengen.NetworkEvaluation(batch, model.encoder, model.evaluator, policy=False)
    >>> searcher = tengen.Searcher(batch, tengen.PolicyAndValue(policy, value), tengen.Puct())
    >>> int(searcher.search(batch.allocate(1), np.arange(1), simulations=32).chosen[0])
    12
    """

    def __init__(self, policy: LeafEvaluation, value: LeafEvaluation) -> None:
        self._policy, self._value = policy, value

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Ask both."""
        return self._value.evaluate(games, count, leaves) + self._policy.evaluate(games, count, leaves)

    def warm_up(self, most: int) -> None:
        """Both."""
        self._policy.warm_up(most)
        self._value.warm_up(most)

    def another(self) -> "PolicyAndValue":
        """Of both."""
        return PolicyAndValue(self._policy.another(), self._value.another())


class AfterMoves:
    """What two evaluations say, one for positions after the first player's moves, one for those after the second's.

    So are the value networks of the Simple-Go lecture. A network for both is given twice.
    """

    def __init__(self, game: BatchedGame, first: LeafEvaluation, second: LeafEvaluation) -> None:
        self._game, self._first, self._second = game, first, second

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Ask each about the positions that it knows."""
        if self._first is self._second:
            return self._first.evaluate(games, count, leaves)
        to_play = self._game.to_play(games)[:count]
        computed = 0
        for evaluation, mover in ((self._first, 2), (self._second, 1)):
            others = leaves.over.copy()
            others[:count] |= to_play != mover
            if not others[:count].all():
                computed += evaluation.evaluate(games, count, leaves._replace(over=others))
        return computed

    def warm_up(self, most: int) -> None:
        """Both."""
        for evaluation in {id(each): each for each in (self._first, self._second)}.values():
            evaluation.warm_up(most)

    def another(self) -> "AfterMoves":
        """Of both."""
        first = self._first.another()
        return AfterMoves(self._game, first, first if self._first is self._second else self._second.another())


class PlayoutEvaluation:
    """The mean result of playouts, by the game's own idea of one; every legal action is equally likely.

    With PUCT this is plain Monte-Carlo tree search, in every game:

    >>> import numpy as np
    >>> import tengen
    >>> game = tengen.get_game("microchess")
    >>> batch = game.batch(game.options())
    >>> searcher = tengen.Searcher(batch, tengen.PlayoutEvaluation(batch, playouts=2, seed=1), tengen.Puct(), seed=1)
    >>> int(searcher.search(batch.allocate(1), np.arange(1), simulations=50).visits.sum())
    50
    """

    def __init__(self, game: BatchedGame, playouts: int = 1, seed: int | None = None) -> None:
        self._game, self._playouts = game, playouts
        self._seeds = np.random.default_rng(seed)
        self._prepare()

    def _prepare(self) -> None:
        """Scratch room and random numbers of its own."""
        self._scratch = self._game.allocate(1)
        self._legal = np.zeros(self._game.actions, np.bool_)
        self._rng = np.array([self._seeds.integers(1, 2**63)], np.uint64)

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Play every game that is not over to its end."""
        leaves.logits[:count] = 0.0
        done = play_out_leaves(
            games, count, leaves.over, self._playouts, self._scratch, self._legal, self._rng, leaves.values
        )
        return int(done)

    def warm_up(self, most: int) -> None:
        """Nothing to wait for but the kernel, which the first search loads."""

    def another(self) -> Self:
        """With the next of its seeds."""
        twin = copy.copy(self)
        twin._prepare()
        return twin


class MixedEvaluation:
    """Values (1 - weight) * one + weight * other, and the policy of the first: AlphaGo's leaf, weight being lambda.

    The other evaluation is that of the rollouts. With weight 1 the first one may leave out its value.

    >>> import numpy as np
    >>> import tengen
    >>> model, game = tengen.load_model("go5"), tengen.get_game("go")
    >>> batch = game.batch(game.options.of({"size": 5, "komi": 3.5}), model.encoder.past)
    >>> network = tengen.NetworkEvaluation(batch, model.encoder, model.evaluator)
    >>> leaf = tengen.MixedEvaluation(network, tengen.PlayoutEvaluation(batch, seed=1), weight=0.5)
    >>> result = tengen.Searcher(batch, leaf, tengen.Puct(), seed=1).search(batch.allocate(1), np.arange(1), 32)
    >>> int(result.chosen[0])
    12
    """

    def __init__(self, one: LeafEvaluation, other: LeafEvaluation, weight: float = 0.5) -> None:
        if not 0 <= weight <= 1:
            raise ValueError(f"the weight of an evaluation is {weight}: give a share from 0 to 1")
        self._one, self._other, self._weight = one, other, np.float32(weight)

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Ask both."""
        computed = self._other.evaluate(games, count, leaves)
        leaves.rollouts[:count] = leaves.values[:count]
        computed += self._one.evaluate(games, count, leaves)
        mean, rollouts = leaves.values[:count], leaves.rollouts[:count]
        mean[:] = (1 - self._weight) * mean + self._weight * rollouts
        return computed

    def warm_up(self, most: int) -> None:
        """Both."""
        self._one.warm_up(most)
        self._other.warm_up(most)

    def another(self) -> "MixedEvaluation":
        """Of both."""
        return MixedEvaluation(self._one.another(), self._other.another(), float(self._weight))


Probe = Callable[[Any, int, Leaves], None]
"""Marks those of the first games as over, with their result, whose value it knows."""


class KnownPositions:
    """Exact knowledge (endgame tables, a solver) before an evaluation: what is known is as good as finished."""

    def __init__(self, probe: Probe, otherwise: LeafEvaluation) -> None:
        self._probe, self._otherwise = probe, otherwise

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Ask the evaluation about what is not known."""
        self._probe(games, count, leaves)
        return self._otherwise.evaluate(games, count, leaves)

    def warm_up(self, most: int) -> None:
        """Of the evaluation."""
        self._otherwise.warm_up(most)

    def another(self) -> "KnownPositions":
        """Of the evaluation; threads share the knowledge."""
        return KnownPositions(self._probe, self._otherwise.another())


@kernel
def play_out_leaves(games, count, over, playouts, scratch, legal, rng, values):  # type: ignore[no-untyped-def]
    """Write the mean result of playouts of the first games to values: float32[L]; returns how many were played out.

    scratch: room for one game; legal: bool[A] likewise; rng: uint64[1].
    """
    state, done = rng[0], 0
    for k in range(count):
        if over[k]:
            continue
        total = np.float32(0.0)
        for _ in range(playouts):
            copy_game(games, k, scratch, 0)
            state, value = playout(scratch, 0, legal, state)
            total += value
        values[k] = total / np.float32(playouts)
        done += 1
    rng[0] = state
    return done
