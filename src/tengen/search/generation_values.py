"""A generation of value networks, ready to evaluate positions in search and in lock-step games."""

from tengen.encode.registry import get_encoder
from tengen.games.batch import BatchedGame
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.nets.generations import Generation
from tengen.search.leaves import AfterMoves, LeafEvaluation, NetworkEvaluation, PolicyAndValue, UniformPolicy

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
