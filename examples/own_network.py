"""Your own network in Tengen's search. The "network" here likes the centre; yours would call PyTorch, JAX, ...

`docs/search.md` explains the protocol, and the fields of the tree.
"""

from typing import Any

import numpy as np

import tengen

SIZE = 5


class LikesTheCentre:
    """A `LeafEvaluation`: it is given a batch of positions, and fills in logits and values."""

    def __init__(self, batch: tengen.BatchedGame, encoder: tengen.Encoder) -> None:
        self._encoder, self._shape = encoder, (encoder.planes, batch.height, batch.width)
        rows, cols = np.divmod(np.arange(SIZE * SIZE), SIZE)
        distance = np.abs(rows - SIZE // 2) + np.abs(cols - SIZE // 2)
        self._logits = np.append(-distance, -SIZE).astype(np.float32)  # the pass is last

    def evaluate(self, games: Any, count: int, leaves: tengen.Leaves) -> int:
        """Fill in the first `count` leaves; those that are over are left alone by the search."""
        planes = np.empty((count, *self._shape), np.uint8)
        self._encoder.encode_games(games, count, planes)  # what a network would be given
        stones = planes[:, 0].sum(axis=(1, 2)).astype(np.float32) - planes[:, 1].sum(axis=(1, 2))
        leaves.logits[:count] = self._logits
        leaves.values[:count] = np.tanh(stones / 4)  # for the player to move, -1 lost to 1 won
        return count

    def warm_up(self, most: int) -> None:
        """Nothing to compile."""

    def another(self) -> "LikesTheCentre":
        """It keeps nothing: threads can share it."""
        return self


def main() -> None:
    """Search the start of a game, and read the tree."""
    game, encoder = tengen.get_game("go"), tengen.get_encoder("stones")
    batch = game.batch(game.options.of({"size": SIZE, "komi": 3.5}), encoder.past, encoder.ages)
    searcher = tengen.Searcher(batch, LikesTheCentre(batch, encoder), tengen.Puct(), seed=1)
    roots = batch.allocate(1)
    result = searcher.search(roots, np.arange(1), simulations=200)
    print("chosen:", int(result.chosen[0]), "value:", round(float(result.value[0]), 2))
    trees = searcher.trees
    first, count = int(trees.first_child[0, 0]), int(trees.child_count[0, 0])
    for child in sorted(range(first, first + count), key=lambda node: -int(trees.visits[0, node]))[:3]:
        n, w = int(trees.visits[0, child]), float(trees.value_sum[0, child])
        print(f"action {trees.action[0, child]}: N={n} Q={w / max(1, n):.2f} P={trees.prior[0, child]:.2f}")


if __name__ == "__main__":
    main()
