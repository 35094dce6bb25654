"""Matches of Microchess: fair and varied openings, PGN records, every way in which games end, foreign engines."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tengen.agents.agent import Agent, AgentError
from tengen.arena.game import play_game
from tengen.arena.match import Match, first_of, opening, run_match
from tengen.arena.results import GameResult, other, score_of, summarize
from tengen.games import microchess
from tengen.games.game import get_game
from tengen.games.microchess import BLACK, WHITE, from_pgn
from tengen.games.microchess.board import MicrochessOptions
from tengen.search.alphabeta import AlphaBetaSearch

LoadFake = Callable[..., Agent]


def plan(a: str, b: str, **settings: object) -> Match:
    options = {name: settings.pop(name) for name in ("rules", "double_step") if name in settings}
    return Match(a, b, MicrochessOptions.of(options), **settings)  # type: ignore[arg-type]


def read(folder: Path, game: int) -> tuple[microchess.State, dict[str, str]]:
    return from_pgn((folder / "games" / f"{game:04d}.pgn").read_text())


# --------------------------------------------------------------------------------------------- openings


def test_pairs_share_an_opening_and_no_two_pairs_do() -> None:
    match = plan("a", "b")
    openings = [opening(match, game) for game in range(1, 61)]
    assert all(first.moves == second.moves for first, second in zip(openings[::2], openings[1::2]))
    assert len({state.fen() for state in openings}) == 30
    assert all(state.move_number == 4 for state in openings)


def test_openings_depend_on_the_seed_and_the_pair_alone() -> None:
    one, two = plan("a", "b"), plan("a", "b", seed=2)
    late_first = plan("a", "b")
    assert opening(late_first, 19).fen() == [opening(one, game) for game in range(1, 20)][-1].fen()
    assert opening(one, 1).fen() != opening(two, 1).fen()


@pytest.mark.parametrize("settings", [{}, {"rules": "ncsoft"}, {"double_step": False}, {"opening_moves": 7}])
def test_openings_are_neither_over_nor_won(settings: dict[str, object]) -> None:
    match, game = plan("a", "b", **settings), get_game("microchess")
    search = AlphaBetaSearch(game.batch(game.options_of(opening(match, 1))), table_bits=16)
    for game in range(1, 40, 2):
        state = opening(match, game)
        assert isinstance(state, microchess.State) and not state.is_over
        value = search.run(state, 4).value
        assert value is not None and abs(value) <= 350  # at another depth than it was chosen by: no piece is lost


def test_a_match_may_begin_at_the_start_and_run_out_of_openings() -> None:
    assert opening(plan("a", "b", opening_moves=0), 5).moves == []
    short = plan("a", "b", opening_moves=1)
    assert {opening(short, game).move_number for game in range(1, 60)} == {1}


# --------------------------------------------------------------------------------------------- the plan


def test_the_settings_are_those_of_the_game() -> None:
    match = plan("random", "uci:/usr/games/fairy-stockfish,skill=3")
    assert match.folder_name.startswith("random-vs-fairy-stockfish-")
    assert match.settings == {
        "a": "random",
        "b": "uci:/usr/games/fairy-stockfish,skill=3",
        "game": "microchess",
        "rules": "standard",
        "double_step": True,
        "seed": 1,
        "opening_moves": 4,
        "max_moves": 400,
    }
    assert match.folder_name != replace(match, options=MicrochessOptions(double_step=False)).folder_name


def test_an_opening_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="21 opening moves are too many: give at most 20"):
        plan("a", "b", opening_moves=21)


# ------------------------------------------------------------------------------------------------ games


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("die", "fake ended with exit code 1"),
        ("bug", "crashed with KeyError"),
        ("repeat:0", "illegal move a1a1: "),
        ("repeat:9999", "illegal move: "),
        ("pass", "illegal move: "),
    ],
)
def test_an_agent_at_fault_loses_with_the_reason(load_fake: LoadFake, spec: str, reason: str) -> None:
    start = microchess.State.new()
    record = play_game(load_fake(spec), load_fake("random"), start)
    assert (record.winner, record.result, record.ending) == (BLACK, "0-1", "forfeit")
    assert record.reason.startswith(reason)
    record = play_game(load_fake("random"), load_fake(spec), start)
    assert (record.winner, record.result, record.ending) == (WHITE, "1-0", "forfeit")


def test_resignation_and_the_move_limit(load_fake: LoadFake) -> None:
    record = play_game(load_fake("resign"), load_fake("random"), microchess.State.new())
    assert (record.winner, record.result, record.ending) == (BLACK, "0-1", "resignation")
    record = play_game(load_fake("random"), load_fake("random", 1), microchess.State.new(), max_moves=3)
    assert (record.winner, record.result, record.ending, record.state.move_number) == (0, "1/2-1/2", "move limit", 3)


def test_random_games_end_in_many_ways_and_are_saved(load_fake: LoadFake, tmp_path: Path) -> None:
    match = plan("random", "random", games=60)
    results = run_match(match, tmp_path, load=load_fake)
    assert {"checkmate", "insufficient material"} <= {result.ending for result in results}
    for result in results:
        state, tags = read(tmp_path, result.game)
        assert (state.result(), state.end_reason, state.move_number) == (result.result, result.ending, result.moves)
        assert tags["Result"] == result.result
        assert state.moves[:4] == opening(match, result.game).moves
        assert first_of(match, result.game) == result.first
        assert result.winner == {1: result.first, 2: other(result.first), 0: None}[state.winner() or 0]
    summary = summarize("random", "random", results)
    assert summary.a.as_first.games == summary.a.as_second.games == 30
    low, high = score_of("a", results).interval
    assert low < 0.5 < high


def test_games_do_not_depend_on_how_many_are_played_at_once(load_fake: LoadFake, tmp_path: Path) -> None:
    def times_off(results: list[GameResult]) -> list[GameResult]:
        return [replace(result, seconds=(0.0, 0.0)) for result in results]

    match = plan("random", "random:2", games=9, rules="ncsoft", double_step=False)
    one = run_match(match, tmp_path / "one", workers=1, load=load_fake)
    four = run_match(match, tmp_path / "four", workers=4, load=load_fake)
    assert times_off(one) == times_off(four)
    assert {read(tmp_path / "one", 1)[1][tag] for tag in ("Variant", "Rules")} == {"microchess", "ncsoft"}


def test_a_forfeit_is_in_the_record(load_fake: LoadFake, tmp_path: Path) -> None:
    run_match(plan("random", "die:7", games=2), tmp_path, load=load_fake)
    for game in (1, 2):
        state, tags = read(tmp_path, game)
        assert not state.is_over
        assert tags["Result"] == ("1-0" if game == 1 else "0-1")
        assert tags["Termination"] == "forfeit: fake ended with exit code 1"
        assert "wins 25.0%" not in (tmp_path / "games" / "0002.pgn").read_text().split("\n\n")[0]


def test_the_agents_opinions_are_comments(tmp_path: Path) -> None:
    run_match(plan("alphabeta:depth=1", "alphabeta:depth=2", games=1), tmp_path)
    text = " ".join((tmp_path / "games" / "0001.pgn").read_text().split())
    assert "{White wins " in text and "{Black wins " in text and "nodes/s" in text


def test_agents_for_another_game_are_one_error_before_the_match(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="plays Go, and this is a game of Microchess"):
        run_match(plan("random", "fast-policy"), tmp_path / "match")
    assert not (tmp_path / "match").exists()


def test_alphabeta_beats_random(tmp_path: Path) -> None:
    results = run_match(plan("alphabeta:depth=4", "random", games=10), tmp_path)
    assert score_of("a", results).points >= 8


def test_fairy_stockfish_beats_random(fairy_stockfish: str, tmp_path: Path) -> None:
    match = plan("random", f"uci:{fairy_stockfish},nodes=2000", games=4)
    results = run_match(match, tmp_path)
    assert [result.reason for result in results] == [""] * 4
    assert score_of("b", results).points >= 3
