"""A game of seven lines written here and now: kernels that know no game play it as its own functions say."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from tengen.games import kernels
from tengen.games.batch import copy_games, follow_paths, judge_games, play_games, restart_games, write_players
from tengen.games.kernels import implement, random_playout


class Matches(NamedTuple):
    """Take one or two matches from a heap of seven; who takes the last one wins."""

    left: NDArray[np.int64]  # [B]
    turn: NDArray[np.int64]  # [B]


@njit
def restart(games, i):  # type: ignore[no-untyped-def]
    games.left[i], games.turn[i] = 7, 1


@njit
def copy(source, i, target, j):  # type: ignore[no-untyped-def]
    target.left[j], target.turn[j] = source.left[i], source.turn[i]


@njit
def play(games, i, action):  # type: ignore[no-untyped-def]
    games.left[i] -= action + 1
    games.turn[i] = 3 - games.turn[i]


@njit
def judge(games, i, legal):  # type: ignore[no-untyped-def]
    for action in range(2):
        legal[action] = games.left[i] > action
    return games.left[i] == 0, np.float32(-1.0 if games.left[i] == 0 else 0.0)


@njit
def player(games, i):  # type: ignore[no-untyped-def]
    return games.turn[i]


@njit
def key(games, i):  # type: ignore[no-untyped-def]
    return 2 * games.left[i] + games.turn[i]


implement(Matches, restart=restart, copy=copy, play=play, judge=judge, player=player, key=key)


def heaps(*left: int) -> Matches:
    return Matches(np.array(left), np.ones(len(left), np.int64))


def test_kernels_over_many_games_are_those_of_the_game() -> None:
    games = heaps(1, 2, 3)
    restart_games(games, np.array([0, 2]))
    assert games.left.tolist() == [7, 2, 7]
    play_games(games, np.array([1, -1, 0]))
    assert (games.left.tolist(), games.turn.tolist()) == ([5, 2, 6], [2, 1, 2])
    players = np.zeros(3, np.int8)
    write_players(games, players)
    assert players.tolist() == [2, 1, 2]
    leaves = heaps(0, 0)
    paths = np.array([[1, 1, 0], [1, 9, 9]], np.int16)
    follow_paths(games, np.array([0, 1]), paths, np.array([3, 1]), leaves)
    assert (leaves.left.tolist(), leaves.turn.tolist()) == ([0, 0], [1, 2])
    other = heaps(4, 4, 4)
    copy_games(games, np.array([0]), other, np.array([2]))
    assert (other.left.tolist(), other.turn.tolist()) == ([4, 4, 5], [1, 1, 2])
    legal, over, values = np.ones((3, 2), np.bool_), np.ones(3, np.bool_), np.ones(3, np.float32)
    judge_games(heaps(0, 1, 2), 3, legal, over, values)
    assert legal.tolist() == [[False, False], [True, False], [True, True]]
    assert (over.tolist(), values.tolist()) == ([True, False, False], [-1, 0, 0])


def random_value(left: int) -> float:
    """What a heap is worth to the player to move if both take at random."""
    if left == 0:
        return -1.0
    takes = [take for take in (1, 2) if take <= left]
    return -sum(random_value(left - take) for take in takes) / len(takes)


@pytest.mark.parametrize("left", range(8))
@pytest.mark.parametrize("turn", [1, 2])
def test_a_game_without_a_playout_of_its_own_is_played_out_at_random(left: int, turn: int) -> None:
    legal, state = np.zeros(2, np.bool_), np.uint64(0x9E3779B97F4A7C15)
    total = 0.0
    for _ in range(4000):
        games = Matches(np.array([left]), np.array([turn]))
        after, value = random_playout(games, 0, legal, state)
        state = np.uint64(after)
        assert games.left[0] == 0
        total += value
    assert total / 4000 == pytest.approx(random_value(left), abs=0.06)


def test_defaults_suit_every_game() -> None:
    @njit
    def ask(games):  # type: ignore[no-untyped-def]
        return kernels.evaluate(games, 0), kernels.gain(games, 0, 1), kernels.key(games, 0)

    assert ask(heaps(3)) == (0, -1, 7)


def test_arrays_that_belong_to_no_game_are_refused_with_a_remedy() -> None:
    class Strangers(NamedTuple):
        left: NDArray[np.int64]

    @njit
    def ask(games):  # type: ignore[no-untyped-def]
        return kernels.player(games, 0)

    with pytest.raises(TypeError, match="call `implement` for it"):
        ask(Strangers(np.zeros(1, np.int64)))
    with pytest.raises(NotImplementedError, match="inside kernels only"):
        kernels.play(heaps(3), 0, 1)


def test_what_is_compiled_for_games_from_elsewhere_is_not_kept() -> None:
    """It would be stale after an edit here, and whoever reads the cache could not import this file."""
    restart_games(heaps(1), np.array([0]))
    cached = restart_games._cache._cache_file._load_index()
    assert "Matches" in str(restart_games.signatures)
    assert "Matches" not in str(cached)
