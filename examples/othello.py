"""Othello, an encoder and a network of one's own: a plugin, in one file.

    tengen learn zero --plugin examples/othello.py --game othello --encoder othello-edges --network tiny --hours 0.2

`docs/plugins.md` explains it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tengen
from tengen import kernels, layers

SIZE, PLAYER, PASSES, MOVES = range(4)
STEPS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))


# ------------------------------------------------------------------------------------------------- rules


class OthelloGames(NamedTuple):
    """B games of Othello."""

    squares: NDArray[np.int8]  # [B, N * N] 0 empty, 1 the first player's disc, 2 the second's
    info: NDArray[np.int64]  # [B, 4] N, whose turn it is, passes in a row, moves


@kernels.kernel
def restart(games, i):  # type: ignore[no-untyped-def]
    """Four discs in the middle; the first player has those that rise to the right."""
    size = games.info[i, SIZE]
    games.squares[i, :] = 0
    middle = size // 2
    games.squares[i, (middle - 1) * size + middle] = games.squares[i, middle * size + middle - 1] = 1
    games.squares[i, (middle - 1) * size + middle - 1] = games.squares[i, middle * size + middle] = 2
    games.info[i, PLAYER], games.info[i, PASSES], games.info[i, MOVES] = 1, 0, 0


@kernels.kernel
def copy(source, i, target, j):  # type: ignore[no-untyped-def]
    """Copy game i of `source` to game j of `target`."""
    for square in range(source.squares.shape[1]):
        target.squares[j, square] = source.squares[i, square]
    for entry in range(4):
        target.info[j, entry] = source.info[i, entry]


@kernels.kernel
def player(games, i):  # type: ignore[no-untyped-def]
    """Whose turn it is: 1 or 2."""
    return games.info[i, PLAYER]


@kernels.kernel
def flip(games, i, square, own, really):  # type: ignore[no-untyped-def]
    """How many discs a move of `own` turns over; `really`: turn them."""
    size, turned = games.info[i, SIZE], 0
    for down, right in STEPS:
        row, col, count = square // size + down, square % size + right, 0
        while 0 <= row < size and 0 <= col < size and games.squares[i, row * size + col] == 3 - own:
            row, col, count = row + down, col + right, count + 1
        if count and 0 <= row < size and 0 <= col < size and games.squares[i, row * size + col] == own:
            turned += count
            for step in range(1, count + 1 if really else 0):
                games.squares[i, (row - step * down) * size + col - step * right] = own
    return turned


@kernels.kernel
def can_move(games, i, square, own):  # type: ignore[no-untyped-def]
    """Whether a disc of `own` may be put on a square."""
    return games.squares[i, square] == 0 and flip(games, i, square, own, False) > 0


@kernels.kernel
def play(games, i, action):  # type: ignore[no-untyped-def]
    """Put a disc, or pass: the action after the last square."""
    own = games.info[i, PLAYER]
    if action < games.squares.shape[1]:
        flip(games, i, action, own, True)
        games.squares[i, action] = own
        games.info[i, PASSES] = 0
    else:
        games.info[i, PASSES] += 1
    games.info[i, PLAYER] = 3 - own
    games.info[i, MOVES] += 1


@kernels.kernel
def judge(games, i, legal):  # type: ignore[no-untyped-def]
    """Where the player to move may play, to legal: bool[N * N + 1]; returns (over, value)."""
    own, points, mine, theirs = games.info[i, PLAYER], games.squares.shape[1], False, False
    legal[:] = False
    for square in range(points):
        legal[square] = can_move(games, i, square, own)
        mine |= legal[square]
        theirs |= can_move(games, i, square, 3 - own)
    if mine or theirs:
        legal[points] = not mine
        return False, np.float32(0.0)
    lead = 0
    for square in range(points):
        disc = games.squares[i, square]
        lead += (disc == own) - (disc == 3 - own)
    return True, np.float32((lead > 0) - (lead < 0))


@kernels.kernel
def key(games, i):  # type: ignore[no-untyped-def]
    """A hash of the discs and of whose turn it is (FNV-1a)."""
    number = np.uint64(14695981039346656037)
    for square in range(games.squares.shape[1]):
        number = (number ^ np.uint64(games.squares[i, square])) * np.uint64(1099511628211)
    return np.int64((number ^ np.uint64(games.info[i, PLAYER])) * np.uint64(1099511628211))


kernels.implement(OthelloGames, restart=restart, copy=copy, play=play, judge=judge, player=player, key=key)


# -------------------------------------------------------------------------------- the game, planes, a network


@dataclass(frozen=True)
class OthelloOptions(tengen.Options):
    """How large the board is."""

    game: ClassVar[str] = "othello"
    size: int = 6

    def __post_init__(self) -> None:
        if self.size not in (4, 6, 8, 10):
            raise ValueError(f"size {self.size} is not possible: give 4, 6, 8 or 10")


@tengen.register("game", "othello")
class Othello(tengen.BoardGame[OthelloOptions]):
    """Othello (Reversi): whoever has more discs when nobody can move wins."""

    name, title, players = "othello", "Othello", ("Black", "White")
    options = OthelloOptions
    can_pass, example_move, opening_moves = True, "b4", 4

    def shape(self, options: OthelloOptions) -> tuple[int, int]:
        """A square."""
        return options.size, options.size

    def arrays(self, options: OthelloOptions, count: int) -> OthelloGames:
        """Room for `count` games."""
        info = np.zeros((count, 4), np.int64)
        info[:, SIZE] = options.size
        return OthelloGames(np.zeros((count, options.size**2), np.int8), info)

    def cells(self, games: Any) -> NDArray[np.int8]:
        """What is on each square."""
        return games.squares  # type: ignore[no-any-return]

    def symmetries(self, options: OthelloOptions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Those that keep the four discs of the start in place: half a turn and the two diagonals."""
        return tengen.square_symmetries(options.size, True, (0, 3, 4, 7))


@tengen.register("encoder", "othello-edges")
class WithEdges(tengen.Encoder):
    """Own discs, discs of the opponent, and the edge, where discs are safer."""

    game: ClassVar[str] = "othello"

    def __init__(self, name: str) -> None:
        super().__init__(name, ("own discs", "discs of the opponent", "the edge"))

    def encode_games(self, games: Any, count: int, out: NDArray[np.uint8]) -> None:
        """Write the first `count` games to out: uint8[n, 3, N, N]."""
        squares, own = games.squares[:count].reshape(out[:count, 0].shape), games.info[:count, PLAYER, None, None]
        out[:count, 0], out[:count, 1], out[:count, 2] = squares == own, squares == 3 - own, 1
        out[:count, 2, 1:-1, 1:-1] = 0


@tengen.register("network", "tiny")
@dataclass(frozen=True)
class Tiny:
    """Two convolutions, a policy and a value."""

    filters: int = 32

    def architecture(self, planes: int, board: layers.BoardShape) -> layers.Architecture:
        """The network over `planes` planes of a board."""
        trunk: tuple[layers.Layer, ...] = ()
        for inputs in (planes, self.filters):
            trunk += (
                layers.Conv(inputs, self.filters, 3, bias=False),
                layers.BatchNorm(self.filters),
                layers.Activation(),
            )
        policy = layers.Flatten(), layers.Dense(self.filters * board.points, board.actions, gain=0.1)
        value = layers.GlobalPool(), layers.Dense(2 * self.filters, 1, gain=0.1), layers.Activation("tanh")
        return layers.Architecture(planes, board, trunk, policy, value=value)
