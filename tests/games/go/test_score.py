"""Counting: area against a slow version, territory by hand, dead stones by playouts and by GNU Go."""

import subprocess
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.agents.random import RandomAgent, RandomSettings
from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, RULES, WHITE, format_margin, to_gtp

from .diagrams import all_points, beside
from .positions import choices, every_rule_set, play_all, state_from, states_of_game, stones_of

# ------------------------------------------------------------------------------------------------- area


def slow_owner(state: go.State, point: tuple[int, int]) -> int:
    """Tromp and Taylor's words: a point counts for a colour if it has it, or reaches that colour alone."""
    stones, size = state.stones, state.size
    found, edge, reached = {point}, [point], set()
    while edge:
        here = edge.pop()
        if stones[here] != EMPTY:
            reached.add(int(stones[here]))
            continue
        edge += [q for q in beside(here, size) if q not in found]
        found.update(beside(here, size))
    return reached.pop() if len(reached) == 1 else EMPTY


@given(st.integers(2, 7), every_rule_set, choices)
def test_area_is_tromp_taylors(size: int, rules: str, numbers: list[int]) -> None:
    state = states_of_game(size, rules, numbers)[-1]
    owners = {point: slow_owner(state, point) for point in all_points(size)}
    ownership = state.ownership(dead=())
    assert all(ownership[point] == owner for point, owner in owners.items())
    if state.rules.scoring == "area":
        colors = list(owners.values())
        assert state.score(dead=()) == colors.count(BLACK) - colors.count(WHITE) - state.komi


def test_an_empty_board_belongs_to_nobody_and_one_stone_takes_it_all() -> None:
    assert go.State.new(9, "tromp-taylor", komi=0).score() == 0
    assert play_all(go.State.new(9, "tromp-taylor", komi=0), "E5").score() == 81
    assert play_all(go.State.new(25, "tromp-taylor", komi=0.5), "E5 pass").score() == 624.5


@pytest.mark.parametrize("rules", RULES)
def test_komi_goes_to_white(rules: str) -> None:
    state = go.State.new(5, rules, komi=2.5)
    assert state.score(dead=()) == -2.5
    assert state.with_komi(4).score(dead=()) == -4


@pytest.mark.parametrize(
    ("rules", "bonus"),
    [("chinese", 4), ("aga", 3), ("tromp-taylor", 0), ("japanese", 0), ("new-zealand", 0)],
)
def test_white_gets_a_bonus_for_handicap_where_the_rules_say_so(rules: str, bonus: int) -> None:
    plain = go.State.new(9, rules, komi=0.5)
    handicap = go.State.new(9, rules, komi=0.5, handicap=4)
    stones_alone = go.State.setup(9, rules, 0.5, stones_of(handicap, BLACK), (), WHITE)
    assert handicap.score(dead=()) == stones_alone.score(dead=()) - bonus
    assert plain.score(dead=()) == -0.5


# ------------------------------------------------------------------------------------- finished positions

# Black lives on the left, White on the right; a dead white stone at A3, a dead black one at G4.
FINISHED = """
    . X . X O . O
    X X X X O O O
    . X . X O . .
    X X X X O . X
    O X . X O O O
    . X X X O . O
    . X . X O O .
"""
DEAD_WHITE, DEAD_BLACK = 4 * 7, 3 * 7 + 6
DEAD = [DEAD_WHITE, DEAD_BLACK]


def test_the_owners_of_a_finished_position_are_plain_to_see() -> None:
    owners = state_from(FINISHED).ownership(DEAD)
    assert (owners[:, :4] == BLACK).all()
    assert (owners[:, 4:] == WHITE).all()


def test_area_of_a_finished_position() -> None:
    assert state_from(FINISHED, "chinese", komi=0.5).score(DEAD) == 28 - 21 - 0.5


def test_territory_of_a_finished_position_counts_empty_points_and_prisoners() -> None:
    state = state_from(FINISHED, "japanese", komi=0.5)
    black = int(np.sum(state.stones[:, :4] == EMPTY)) + 2  # the point under the dead stone, and the stone
    white = int(np.sum(state.stones[:, 4:] == EMPTY)) + 2
    assert state.score(DEAD) == black - white - 0.5


def test_territory_counts_stones_captured_during_the_game() -> None:
    diagram = """
        O X . . .
        . X . O .
        X X O O O
        . . O . .
        . . O . .
    """
    before = state_from(diagram, "japanese", komi=0.5)
    after = play_all(before, "A4")
    assert after.captures == (1, 0)
    # One prisoner and the point A5, which was nobody's; A4, which was nobody's, is a stone now.
    assert after.score(dead=()) == before.score(dead=()) + 2


def test_the_same_stones_may_be_alive_or_dead_as_told() -> None:
    state = state_from(FINISHED, "chinese", komi=0)
    assert state.score(dead=()) < state.score(dead=[DEAD_WHITE])
    assert state.score(dead=[DEAD_BLACK]) < state.score(dead=DEAD)


@pytest.mark.parametrize("rules", ["chinese", "japanese", "aga", "new-zealand"])
def test_playouts_find_the_dead_stones(rules: str) -> None:
    state = state_from(FINISHED, rules, komi=0.5)
    assert state.dead_stones() == frozenset(DEAD)
    assert state.score() == state.score(DEAD)


@pytest.mark.parametrize("rules", ["tromp-taylor", "simple-go"])
def test_some_rules_take_nothing_off(rules: str) -> None:
    state = state_from(FINISHED, rules, komi=0.5)
    assert state.score() == state.score(dead=())


# White's corner has a single eye and no room for another; White lives below.
DEAD_CORNER = """
    . O O X . . .
    O O X X . . .
    X X X . . . .
    . . . . . . .
    X X X X X X X
    O O O O O O O
    . O . O . O .
"""


def test_a_whole_group_without_two_eyes_is_dead() -> None:
    assert state_from(DEAD_CORNER).dead_stones() == frozenset({1, 2, 7, 8})


def test_dead_stones_hang_on_the_seed_alone_and_leave_the_state_as_it_was() -> None:
    state = state_from(FINISHED)
    before = [array.copy() for array in state.board]
    assert state.dead_stones(seed=7) == state.dead_stones(seed=7)
    assert all(np.array_equal(old, new) for old, new in zip(before, state.board))


def test_a_dead_point_outside_the_board_is_refused() -> None:
    with pytest.raises(ValueError, match="not a point"):
        state_from(FINISHED).score(dead=[49])


@pytest.mark.parametrize(("margin", "text"), [(3.5, "B+3.5"), (-0.5, "W+0.5"), (0, "0"), (7.0, "B+7")])
def test_margins_are_written_as_sgf_does(margin: float, text: str) -> None:
    assert format_margin(margin) == text


# ---------------------------------------------------------------------------------------------- GNU Go


class GnuGo:
    """GNU Go as a judge of finished positions."""

    def __init__(self, path: str) -> None:
        self.process = subprocess.Popen(
            [path, "--mode", "gtp", "--chinese-rules"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, command: str) -> str:
        """One GTP command and its answer."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = list(iter(self.process.stdout.readline, "\n"))
        assert lines[0].startswith("="), f"{command}: {lines}"
        return "".join(lines)[1:].strip()

    def judge(self, state: go.State) -> tuple[str, set[str]]:
        """The score and the dead stones."""
        self.ask(f"boardsize {state.size}")
        self.ask("clear_board")
        self.ask(f"komi {state.komi}")
        for color, name in ((BLACK, "black"), (WHITE, "white")):
            for point in stones_of(state, color):
                self.ask(f"play {name} {to_gtp(point, state.size)}")
        return self.ask("final_score"), set(self.ask("final_status_list dead").split())


@pytest.fixture(scope="module")
def judge(gnugo: str) -> Iterator[GnuGo]:
    engine = GnuGo(gnugo)
    yield engine
    engine.ask("quit")
    engine.process.wait(10)


def check_with(judge: GnuGo, state: go.State) -> None:
    score, dead = judge.judge(state)
    assert {to_gtp(point, state.size) for point in state.dead_stones()} == dead, str(state)
    assert format_margin(state.score()) == score, str(state)


@pytest.mark.parametrize("diagram", [FINISHED, DEAD_CORNER], ids=["dead stones", "dead group"])
def test_gnu_go_agrees_on_a_finished_position_with_dead_stones(judge: GnuGo, diagram: str) -> None:
    check_with(judge, state_from(diagram, "chinese", komi=0.5))


@pytest.mark.parametrize("seed", range(4))
def test_gnu_go_agrees_on_the_end_of_random_games(judge: GnuGo, seed: int) -> None:
    """Random players fill everything but their eyes, so what stands at the end is alive."""
    agent, state = RandomAgent(RandomSettings(seed)), go.State.new(7, "chinese", komi=0.5)
    while not state.is_over:
        state = state.play(agent.choose(state).move)
    check_with(judge, go.State.setup(7, "chinese", 0.5, stones_of(state, BLACK), stones_of(state, WHITE)))


def test_two_passes_after_a_finished_position_give_its_result() -> None:
    state = state_from(FINISHED, "chinese", komi=0.5).play(PASS).play(PASS)
    assert state.is_over
    assert (state.result(), state.winner()) == ("B+6.5", BLACK)
