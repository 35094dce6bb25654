"""A match: fair openings, forfeits that do not stop it, and games that do not depend on how it was run."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tengen.agents.agent import Agent, AgentError
from tengen.arena.match import Match, first_of, opening, run_match
from tengen.arena.results import GameResult, score_of, summarize
from tengen.games.go.rules import GoOptions
from tengen.games.go.sgf import read_sgf
from tengen.games.microchess.board import MicrochessOptions
from tengen.runs.folder import FolderError

LoadFake = Callable[..., Agent]


def without_times(results: list[GameResult]) -> list[GameResult]:
    return [replace(result, seconds=(0.0, 0.0)) for result in results]


# --------------------------------------------------------------------------------------------- openings


def test_pairs_of_games_share_an_opening_and_swap_colours() -> None:
    match = Match("a", "b", GoOptions(), games=8)
    assert [first_of(match, game) for game in range(1, 5)] == ["a", "b", "a", "b"]
    for game in range(1, 9, 2):
        assert opening(match, game).moves == opening(match, game + 1).moves


@pytest.mark.parametrize("first", ["a", "b"])
def test_one_agent_may_always_move_first_and_then_every_game_has_an_opening_of_its_own(first: str) -> None:
    match = Match("a", "b", GoOptions(), games=8, first=first)
    assert [first_of(match, game) for game in range(1, 5)] == [first] * 4
    assert len({str(opening(match, game)) for game in range(1, 9)}) >= 7
    assert match.folder_name != Match("a", "b", GoOptions(), games=8).folder_name
    with pytest.raises(ValueError, match="choose from alternate, a, b"):
        Match("a", "b", GoOptions(), first="white")


def test_openings_vary_with_the_pair_and_the_seed_but_not_from_run_to_run() -> None:
    def all_openings(seed: int) -> list[str]:
        return [str(opening(Match("a", "b", GoOptions(), seed=seed), game)) for game in range(1, 21, 2)]

    assert all_openings(1) == all_openings(1)
    assert len(set(all_openings(1))) >= 9
    assert not set(all_openings(1)) & set(all_openings(2))


@pytest.mark.parametrize("size", [2, 5, 7, 9, 19])
def test_opening_moves_keep_off_the_edge_where_there_is_room(size: int) -> None:
    match = Match("a", "b", GoOptions(size), opening_moves=2)
    for game in range(1, 41, 2):
        state = opening(match, game)
        assert state.move_number == 2
        for _, move in state.moves:
            row, col = divmod(move, size)
            assert size < 7 or all(2 <= line <= size - 3 for line in (row, col))


def test_a_match_may_begin_with_the_empty_board() -> None:
    assert opening(Match("a", "b", GoOptions(), opening_moves=0), 1).moves == []


# --------------------------------------------------------------------------------------------- the plan


def test_the_folder_is_named_after_the_agents_and_the_settings_but_not_the_number_of_games() -> None:
    match = Match("uct:playouts=100", "gtp:/usr/games/gnugo --mode gtp", GoOptions(komi=7))
    assert match.folder_name.startswith("uct-vs-gnugo-")
    assert match.folder_name == replace(match, games=400, options=GoOptions(9, komi=7), max_moves=324).folder_name
    for other in ({"seed": 2}, {"seconds": 1.0}, {"b": "uct"}):
        assert match.folder_name != replace(match, **other).folder_name  # type: ignore[arg-type]
    for options in (GoOptions(7, komi=7), GoOptions(), GoOptions(rules="aga", komi=7), GoOptions(komi=7, handicap=2)):
        assert match.folder_name != replace(match, options=options).folder_name


@pytest.mark.parametrize(
    ("match", "folder"),
    [
        (Match("uct:playouts=100", "random", GoOptions()), "uct-vs-random-9f83cee8"),
        (
            Match(
                "uct:playouts=100",
                "gtp:gnugo --mode gtp",
                GoOptions(5, komi=3.5),
                seed=7,
                opening_moves=3,
                seconds=1.5,
            ),
            "uct-vs-gnugo-0f42f904",
        ),
        (Match("a", "b", GoOptions(rules="simple-go")), "a-vs-b-d35cb95e"),
        (
            Match("alphabeta", "uci:fairy-stockfish,skill=5", MicrochessOptions()),
            "alphabeta-vs-fairy-stockfish-99cbdea8",
        ),
        (
            Match("random", "uct", MicrochessOptions("ncsoft", False), max_moves=100, first="a"),
            "random-vs-uct-fae27678",
        ),
    ],
)
def test_folders_of_the_first_release_are_found_again(match: Match, folder: str) -> None:
    assert match.folder_name == folder


def test_results_of_the_first_release_are_read(load_fake: LoadFake, tmp_path: Path) -> None:
    for options in (GoOptions(5), MicrochessOptions()):
        match, folder = Match("random", "resign", options, games=2), tmp_path / options.game
        results = run_match(match, folder, load=load_fake)
        text = re.sub(r', "check": "\w+"', "", (folder / "results.jsonl").read_text())
        swap = {"a": "b", "b": "a"} if options.game == "microchess" else {"a": "a", "b": "b"}
        for first, black in swap.items():
            text = text.replace(f'"first": "{first}"', f'"black": "{black.upper()}"')
        (folder / "results.jsonl").write_text(text.replace('"A"', '"a"').replace('"B"', '"b"'))
        assert run_match(match, folder, load=load_fake) == results


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"games": 0}, "games 0 is not possible: give at least 1"),
        ({"seed": -1}, "seed -1 is not possible"),
        ({"opening_moves": 41}, "41 opening moves are too many: give at most 40"),
        ({"max_moves": 2}, "max moves 2 is not possible: give at least 3"),
        ({"seconds": 0.0}, "0.0 seconds per move are not possible"),
    ],
)
def test_a_plan_that_cannot_be_played_says_why(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Match("a", "b", GoOptions(), **wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------- playing


def test_games_do_not_depend_on_how_many_are_played_at_once(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("random", "random:2", GoOptions(5, komi=0.5), games=9)
    one = run_match(match, tmp_path / "one", workers=1, load=load_fake)
    four = run_match(match, tmp_path / "four", workers=4, load=load_fake)
    assert without_times(one) == without_times(four)
    assert [result.game for result in one] == list(range(1, 10))


def test_every_game_is_saved_as_sgf(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("random", "resign", GoOptions(7), games=2)
    for result in run_match(match, tmp_path, load=load_fake):
        game = read_sgf((tmp_path / "games" / f"{result.game:04d}.sgf").read_bytes())
        names = ("random", "resign") if result.first == "a" else ("resign", "random")
        assert (game.black_name, game.white_name) == names
        assert game.result == result.result == ("B+R" if result.first == "a" else "W+R")
        assert game.state.moves[:2] == opening(match, result.game).moves
        assert game.state.move_number == result.moves


def test_an_agent_at_fault_loses_that_game_and_the_match_goes_on(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("random", "die:10", GoOptions(5), games=4, opening_moves=0)
    results = run_match(match, tmp_path, load=load_fake)
    assert [(result.winner, result.ending) for result in results] == [("a", "forfeit")] * 4
    assert {result.reason for result in results} == {"fake ended with exit code 1"}
    assert b"fake ended with exit code 1" in (tmp_path / "games" / "0001.sgf").read_bytes()
    summary = summarize("random", "die:10", results)
    assert summary.b.forfeits == tuple((game, "fake ended with exit code 1") for game in (1, 2, 3, 4))
    assert summary.a.forfeits == ()


def test_an_agent_that_never_starts_is_one_error_and_leaves_no_folder(tmp_path: Path) -> None:
    def load(spec: str, seed: int) -> Agent:
        raise AgentError("nosuch is not installed")

    with pytest.raises(AgentError, match="nosuch is not installed"):
        run_match(Match("a", "b", GoOptions()), tmp_path / "match", load=load)
    assert not (tmp_path / "match").exists()


def test_a_foreign_engine_that_dies_at_once_never_starts_a_match(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="exit code"):
        run_match(Match("gtp:false", "random", GoOptions()), tmp_path / "match")
    assert not (tmp_path / "match").exists()


def test_an_agent_that_fails_to_start_later_loses_that_game(load_fake: LoadFake, tmp_path: Path) -> None:
    starts = iter(range(100))

    def load(spec: str, seed: int) -> Agent:
        if spec == "pass" and next(starts) == 2:  # after the rehearsal and one game
            raise AgentError("out of licences")
        return load_fake(spec, seed)

    results = run_match(Match("random", "pass", GoOptions(5), games=4), tmp_path, workers=1, load=load)
    assert [result.reason for result in results] == ["", "could not start: out of licences", "", ""]
    assert results[1].winner == "a"


def test_a_mistake_of_the_arena_itself_is_not_a_lost_game(load_fake: LoadFake, tmp_path: Path) -> None:
    starts = iter(range(100))

    def load(spec: str, seed: int) -> Agent:
        if next(starts) > 4:
            raise ZeroDivisionError
        return load_fake(spec, seed)

    with pytest.raises(ZeroDivisionError):
        run_match(Match("random", "random", GoOptions(5), games=9), tmp_path, load=load)


def test_random_against_itself_is_even_and_never_plays_the_same_game(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("random", "random", GoOptions(5, komi=0.5, rules="tromp-taylor"), games=200)
    results = run_match(match, tmp_path, load=load_fake)
    low, high = score_of("a", results).interval
    assert low < 0.5 < high
    records = {str(read_sgf(path.read_bytes()).state.moves) for path in (tmp_path / "games").iterdir()}
    assert len(records) == 200


def test_the_summary_counts_both_sides(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("random", "resign", GoOptions(5), games=5)
    summary = summarize("random", "resign", run_match(match, tmp_path, load=load_fake))
    assert (summary.a.as_first.wins, summary.a.as_second.wins, summary.a.score.games) == (3, 2, 5)
    assert summary.b.score == summary.a.score.reversed
    assert summary.endings == {"resignation": 5}
    assert summary.b.decisions == 5
    report = summary.to_json(("Black", "White"))
    assert (report["a"]["wins"], report["a"]["elo"], report["a"]["elo_interval"][1]) == (5, None, None)
    assert summarize("a", "b", []).to_json(("Black", "White"))["mean_moves"] is None


def test_gnu_go_beats_random(gnugo: str, tmp_path: Path) -> None:
    match = Match("random", f"gtp:{gnugo} --mode gtp --level 1 --seed 1", GoOptions(7), games=2)
    results = run_match(match, tmp_path, workers=1)
    assert [(result.winner, result.reason) for result in results] == [("b", ""), ("b", "")]
    for result in results:
        assert read_sgf((tmp_path / "games" / f"{result.game:04d}.sgf").read_bytes()).result == result.result


def test_draws_count_for_nobody(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("pass", "pass", GoOptions(5, komi=0), games=2, opening_moves=0)
    results = run_match(match, tmp_path, load=load_fake)
    assert [(result.winner, result.result) for result in results] == [(None, "0"), (None, "0")]
    assert score_of("a", results).mean == 0.5


# --------------------------------------------------------------------------------------------- resuming


def stop_after(count: int) -> Callable[[GameResult], None]:
    """What Ctrl-C does, once `count` games are there."""
    left = [count]

    def on_result(result: GameResult) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    return on_result


def test_an_interrupted_match_plays_on_to_the_same_games(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("random", "random", GoOptions(5), games=12)
    whole = run_match(match, tmp_path / "whole", load=load_fake)
    with pytest.raises(KeyboardInterrupt):
        run_match(match, tmp_path / "parts", load=load_fake, on_result=stop_after(3))
    lines = (tmp_path / "parts" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 3
    seen: list[GameResult] = []
    resumed = run_match(match, tmp_path / "parts", load=load_fake, on_result=seen.append)
    assert without_times(resumed) == without_times(whole)
    assert sorted(result.game for result in seen) == list(range(1, 13))
    assert (tmp_path / "parts" / "results.jsonl").read_text().splitlines()[:3] == lines


def test_more_games_may_be_asked_for_and_fewer_shown(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("random", "random", GoOptions(5), games=4)
    four = run_match(match, tmp_path, load=load_fake)
    six = run_match(replace(match, games=6), tmp_path, load=load_fake)
    assert six[:4] == four
    assert run_match(replace(match, games=2), tmp_path, load=load_fake) == four[:2]


def test_a_folder_belongs_to_one_match(load_fake: LoadFake, tmp_path: Path) -> None:
    match = Match("random", "pass", GoOptions(5, komi=7), games=2)
    run_match(match, tmp_path, load=load_fake)
    with pytest.raises(FolderError, match=r"komi 7\.0 where you ask for 6\.5: choose another --out"):
        run_match(replace(match, options=GoOptions(5, komi=6.5)), tmp_path, load=load_fake)


def test_a_finished_match_is_shown_without_its_agents(load_fake: LoadFake, tmp_path: Path) -> None:
    def gone(spec: str, seed: int) -> Agent:
        raise AgentError(f"{spec} is not installed any more")

    match = Match("random", "pass", GoOptions(5), games=2)
    results = run_match(match, tmp_path, load=load_fake)
    assert run_match(match, tmp_path, load=gone) == results
