"""What a finished game is worth: against a slow version, and the same in self-play, in search and in matches."""

from collections.abc import Iterator

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, RULES, WHITE
from tengen.games.go.batch import BatchedGo
from tengen.games.go.board import SIZE, Board
from tengen.games.go.rules import REMOVES_DEAD, SUICIDE, GoOptions
from tengen.games.go.score import final_margin, final_owners
from tengen.search.life_and_death import dead_stones, settle

from .diagrams import Point, Stones, all_points, beside, cell_of, random_boards, stones_of, strings_of
from .positions import state_from
from .slow_life import slow_life


def slow_owners(stones: Stones, size: int) -> dict[Point, int]:
    """Tromp and Taylor's words: a point is whose stone it has, or who alone is reached from it."""
    owners = {}
    for point in all_points(size):
        found, edge, reached = {point}, [point], set()
        while edge:
            here = edge.pop()
            if here in stones:
                reached.add(stones[here])
                continue
            edge += [q for q in beside(here, size) if q not in found]
            found.update(beside(here, size))
        owners[point] = reached.pop() if len(reached) == 1 else EMPTY
    return owners


def slow_final_owners(stones: Stones, size: int, flags: int, marked: Stones) -> dict[Point, int]:
    """Take off stones in unconditional territory of the opponent, and strings that are marked from end to end."""
    off: set[Point] = set()
    if flags & REMOVES_DEAD:
        for color in (BLACK, WHITE):
            _, territory = slow_life(stones, size, color, bool(flags & SUICIDE))
            off |= {point for point in territory if stones.get(point) == 3 - color}
        for string in strings_of(stones, size):
            if all(marked.get(point) == stones[point] for point in string):
                off |= string
    return slow_owners({point: color for point, color in stones.items() if point not in off}, size)


def marked_boards(size: int, games: int, seed: int, every: int) -> Iterator[tuple[Board, Stones, Stones]]:
    """Positions of random games with marks from a few moves before: some strings have grown since, some are gone."""
    rng, earlier = np.random.default_rng(seed), dict[Point, int]()
    for number, board in enumerate(random_boards(size, games, seed)):
        stones = stones_of(board)
        if number % every == every - 4:
            strings = sorted(strings_of(stones, size), key=min)
            chosen = [string for string in strings if rng.random() < 0.4]
            earlier = {point: stones[point] for string in chosen for point in string}
        elif number % every == every - 1:
            yield board, stones, earlier


@pytest.mark.parametrize("rules", [name for name, rules in RULES.items() if rules.scoring == "area"])
@pytest.mark.parametrize(("size", "games", "every"), [(3, 30, 5), (5, 20, 5), (7, 12, 7)])
def test_owners_are_those_of_the_slow_version(rules: str, size: int, games: int, every: int) -> None:
    flags, removed = RULES[rules].flags, 0
    for board, stones, marked in marked_boards(size, games, seed=size, every=every):
        dead, owner = np.zeros_like(board.color), np.zeros_like(board.color)
        for point, color in marked.items():
            dead[cell_of(board, point)] = color
        before = board.color.copy()
        final_owners(board, flags, dead, owner)
        expected = slow_final_owners(stones, size, flags, marked)
        assert {point: int(owner[cell_of(board, point)]) for point in all_points(size)} == expected
        assert np.array_equal(board.color, before), "the board itself is left as it is"
        signs = [{BLACK: 1, WHITE: -1}.get(color, 0) for color in expected.values()]
        assert final_margin(board, flags, dead) == sum(signs)
        removed += expected != slow_owners(stones, size)
        assert board.info[SIZE] == size
    assert (removed > 0) == bool(flags & REMOVES_DEAD)


GROWN = """
    . O O . .
    X X X X X
    . . . . .
    . . . . .
    . . . . .
"""


def test_a_marked_string_that_has_grown_counts_as_alive() -> None:
    batch = BatchedGo(GoOptions(5, "chinese", 0.5))
    games = batch.allocate(2)
    state = state_from(GROWN, "chinese", WHITE, 0.5)
    for i in range(2):
        batch.load(games, i, state)
        batch.mark_dead(games, i, frozenset([1, 2]))
    batch.play(games, np.array([25, 3]))
    batch.play(games, np.array([25, 25]))
    batch.play(games, np.array([-1, 25]))
    legal, over, values = np.zeros((2, 26), np.bool_), np.zeros(2, np.bool_), np.zeros(2, np.float32)
    batch.judge(games, 2, legal, over, values)
    assert over.all()
    margins = [final_margin(state.board, RULES["chinese"].flags, games.dead[0]), 0]
    assert margins[0] == 25, "both white stones are off, and all is Black's"
    flags = RULES["chinese"].flags
    grown = state.play(3)
    assert final_margin(grown.board, flags, games.dead[1]) == grown.with_komi(0).score(dead=())


# ------------------------------------------------------------------------------ self-play and matches agree

FINISHED = {
    "a dead stone in a corner": """
        . X X O . .
        O . X O O .
        . X X O . O
        X X X O O O
        . X . X O .
        X . X X O O
    """,
    "two dead stones in a row": """
        X . . O .
        X X O O O
        . X X O .
        X O X O O
        . . X O .
    """,
    "a dead group": """
        . X O O . O
        X X X O O .
        . O X X O O
        O O . X O .
        . . X X O O
        . X . X O .
    """,
    "nothing dead": """
        . X O .
        X X O O
        . X O O
        X X O .
    """,
}


@pytest.mark.parametrize("name", FINISHED)
@pytest.mark.parametrize("rules", ["chinese", "aga", "tromp-taylor"])
@pytest.mark.parametrize("half", [-0.5, 0.5])
def test_self_play_and_matches_have_the_same_winner(name: str, rules: str, half: float) -> None:
    """The komi leaves half a point: one stone more or less off the board changes the winner."""
    state = state_from(FINISHED[name], rules, BLACK, 0.0).play(PASS).play(PASS)
    state = state.with_komi(settle(state).score() + half)
    batch = BatchedGo(GoOptions(state.size, rules))
    games = batch.allocate(1)
    batch.load(games, 0, state)
    margins, owners = batch.score(games, np.array([0]))
    assert margins[0] == settle(state).score() == -half
    assert settle(state).winner() == (BLACK if margins[0] > 0 else WHITE)
    signs = {BLACK: 1, WHITE: -1, EMPTY: 0}
    assert owners[0].tolist() == [signs[int(owner)] for owner in settle(state).ownership().ravel()]


def test_search_counts_by_the_dead_stones_that_were_found() -> None:
    """The same position with two passes: won by the dead stone, lost without it."""
    state = state_from(FINISHED["a dead stone in a corner"], "chinese", BLACK, 0.0).play(PASS).play(PASS)
    dead = dead_stones(state)
    assert dead
    komi = (state.score(dead=dead) + state.score(dead=())) / 2
    state = state.with_komi(komi)
    batch = BatchedGo(GoOptions(state.size, "chinese"))
    games = batch.allocate(2)
    legal, over, values = np.zeros((2, batch.actions), np.bool_), np.zeros(2, np.bool_), np.zeros(2, np.float32)
    for i in range(2):
        batch.load(games, i, state)
    batch.mark_dead(games, 1, dead)
    batch.judge(games, 2, legal, over, values)
    assert over.all()
    sign = np.sign(state.score(dead=dead))
    assert values[1] == sign, "as the match counts it"
    certain = final_margin(state.board, RULES["chinese"].flags, games.dead[0]) - komi
    assert values[0] == np.sign(certain)


def test_finished_games_of_a_state_without_marks_are_those_of_plain_area() -> None:
    state = go.State.new(5, "tromp-taylor", 0.5).play(12).play(0).play(PASS).play(PASS)
    assert final_margin(state.board, state.rules.flags, np.zeros_like(state.board.color)) - 0.5 == state.score()
