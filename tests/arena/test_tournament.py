"""A tournament: pairs in rounds, nothing lost or played twice, sums that agree, ratings in the right order."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tengen.agents.agent import Agent, AgentError
from tengen.arena.match import opening
from tengen.arena.results import GameResult
from tengen.arena.tournament import Entrant, Tournament, run_tournament, saved_results
from tengen.arena.tournament_report import Standings
from tengen.games.go.rules import GoOptions
from tengen.games.tictactoe.game import GAME as TICTACTOE
from tengen.runs.folder import FolderError

LoadFake = Callable[..., Agent]
FILES = (
    *("tournament.json", "tournament.html", "tournament.toml"),
    *("ratings.csv", "ratings.png", "crosstable.csv", "crosstable.png"),
)


def entrants(*texts: str) -> tuple[Entrant, ...]:
    return tuple(map(Entrant.of, texts))


def fakes(games: int = 4, *more: str, **settings: object) -> Tournament:
    """Wild moves, a player who resigns, and random."""
    return Tournament(entrants("wild", "quitter=resign", "random", *more), GoOptions(5), games, **settings)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ the plan


def test_an_agent_may_have_a_name() -> None:
    assert Entrant.of("random") == Entrant("random", "random")
    assert Entrant.of("uct:playouts=100,seed=7") == Entrant("uct:playouts=100,seed=7", "uct:playouts=100,seed=7")
    assert Entrant.of("value only = zero:go9,sims=8") == Entrant("value only", "zero:go9,sims=8")
    assert Entrant.of("gnugo=gtp:gnugo --mode=gtp") == Entrant("gnugo", "gtp:gnugo --mode=gtp")
    with pytest.raises(ValueError, match="no name before its ="):
        Entrant.of("=random")


@pytest.mark.parametrize(
    ("texts", "settings", "message"),
    [
        (["random"], {}, "a tournament of 1 agent is not possible"),
        (["x=random", "x=uct"], {}, "two agents have the name 'x'"),
        (["x=random", "random"], {}, "two agents have the spec 'random'"),
        (["random", "uct"], {"games": 3}, "give an even number"),
        (["random", "uct"], {"games": 0}, "give an even number"),
        (["random", "uct"], {"anchor": "gnugo"}, "no agent is called 'gnugo' in this tournament: choose from random"),
        (["random", "uct"], {"seed": -1}, "seed -1 is not possible"),
    ],
)
def test_what_cannot_be_played_is_refused(texts: list[str], settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tournament(entrants(*texts), GoOptions(5), **settings)  # type: ignore[arg-type]


def test_all_pairs_meet_with_the_same_openings_in_whatever_order_they_are_listed() -> None:
    plan = Tournament(entrants("d", "b", "a", "c"), GoOptions(5))
    assert len(plan.pairs) == 6
    for game in (1, 2, 7):
        assert len({str(opening(match, game)) for match in plan.matches}) == 1
    other = Tournament(entrants("second=b", "c", "a", "d"), GoOptions(5))
    assert other.folder_name == plan.folder_name
    assert {match.folder_name for match in other.matches} == {match.folder_name for match in plan.matches}
    assert replace(plan, options=GoOptions(7)).folder_name != plan.folder_name


# --------------------------------------------------------------------------------------------- the games


def sums_agree(standings: Standings, games: int) -> None:
    """Every game gives one point in all, and every player has as many games against every other."""
    names = [player.name for player in standings.players]
    for player in standings.players:
        row = [standings.table[player.name, rival] for rival in names if rival != player.name]
        assert [score.games for score in row] == [games] * (len(names) - 1)
        assert sum(score.points for score in row) == player.score.points
        assert player.as_first.games * 2 == player.score.games == player.rating.games
    for a, b in standings.pairs:
        assert standings.table[a, b] == standings.table[b, a].reversed
    assert sum(player.score.points for player in standings.players) == standings.games
    assert standings.games == games * len(standings.pairs)


def test_pairs_play_in_rounds_and_the_sums_agree(load_fake: LoadFake, tmp_path: Path) -> None:
    played: list[tuple[int, int]] = []
    standings = run_tournament(
        fakes(6), tmp_path, workers=1, load=load_fake, on_result=lambda pair, result: played.append((pair, result.game))
    )
    assert played == [(pair, game) for begun in (1, 3, 5) for pair in range(3) for game in (begun, begun + 1)]
    sums_agree(standings, 6)
    quitter = standings.players[-1]
    assert (quitter.name, quitter.spec, quitter.score.points) == ("quitter", "resign", 0)
    assert standings.anchor == "wild"  # who was listed first
    assert [player.rating.elo for player in standings.players if player.name == "wild"] == [0]


def test_the_report_says_what_the_standings_say(load_fake: LoadFake, tmp_path: Path) -> None:
    standings = run_tournament(fakes(anchor="resign"), tmp_path, load=load_fake)
    assert standings.anchor == "quitter"
    for name in FILES:
        assert (tmp_path / name).stat().st_size > 0
    for name in ("ratings.png", "crosstable.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    found = json.loads((tmp_path / "tournament.json").read_text())
    assert found["anchor"] == "quitter" and found["games"] == 12 and found["games_wanted"] == 4
    assert [agent["name"] for agent in found["agents"]] == [player.name for player in standings.players]
    assert found["agents"][0]["elo"] == standings.players[0].rating.elo > 0
    low, high = found["agents"][0]["elo_interval"]
    assert low < found["agents"][0]["elo"] < high
    for pair in found["pairs"]:
        assert (tmp_path / pair["folder"] / "games" / "0004.sgf").exists()
    table = list(csv.reader((tmp_path / "crosstable.csv").open()))
    assert [row[0] for row in table[1:]] == [player.name for player in standings.players]
    assert sum(float(cell) for row in table[1:] for cell in row[1:] if cell) == 12
    ratings = list(csv.DictReader((tmp_path / "ratings.csv").open()))
    assert [int(row["games"]) for row in ratings] == [8, 8, 8]
    page = (tmp_path / "tournament.html").read_text()
    assert "quitter" in page and "12 of 12" in page and "$" not in page


def test_a_tournament_goes_on_where_it_was_stopped(load_fake: LoadFake, tmp_path: Path) -> None:
    whole = run_tournament(fakes(6), tmp_path / "whole", workers=1, load=load_fake)

    def stop_after(count: int) -> Callable[[int, GameResult], None]:
        seen: list[GameResult] = []

        def stop(pair: int, result: GameResult) -> None:
            seen.append(result)
            if len(seen) == count:
                raise KeyboardInterrupt

        return stop

    for count in (3, 10):
        with pytest.raises(KeyboardInterrupt):
            run_tournament(fakes(6), tmp_path / "parts", workers=1, load=load_fake, on_result=stop_after(count))
        assert sum(map(len, saved_results(fakes(6), tmp_path / "parts"))) == count
        assert json.loads((tmp_path / "parts" / "tournament.json").read_text())["games"] == count
    parts = run_tournament(fakes(6), tmp_path / "parts", workers=1, load=load_fake)
    assert parts.table == whole.table
    lines = [path.read_bytes() for path in (tmp_path / "parts").glob("matches/*/results.jsonl")]
    assert sorted(text.count(b"\n") for text in lines) == [6, 6, 6]


def test_games_and_agents_may_be_added_but_not_other_conditions(load_fake: LoadFake, tmp_path: Path) -> None:
    first = run_tournament(fakes(2), tmp_path, load=load_fake)
    played: list[int] = []

    def load(spec: str, seed: int) -> Agent:
        played.append(1)
        return load_fake(spec, seed)

    more = run_tournament(fakes(4, "passer=pass"), tmp_path, load=load)
    sums_agree(more, 4)
    assert len(played) == 2 * (24 - 6) + 4  # two agents a game, and each agent once before
    assert first.games == 6
    with pytest.raises(FolderError, match="holds another tournament, with seed 1 where you ask for 2"):
        run_tournament(fakes(4, seed=2), tmp_path, load=load_fake)


def test_an_agent_that_cannot_start_is_an_error_before_anything_is_written(load_fake: LoadFake, tmp_path: Path) -> None:
    def load(spec: str, seed: int) -> Agent:
        if spec == "resign":
            raise AgentError("resign isn't installed")
        return load_fake(spec, seed)

    with pytest.raises(AgentError, match="isn't installed"):
        run_tournament(fakes(), tmp_path / "t", load=load)
    assert not (tmp_path / "t").exists()


def test_a_crash_loses_the_game_and_is_shown(load_fake: LoadFake, tmp_path: Path) -> None:
    plan = Tournament(entrants("random", "broken=bug"), GoOptions(5), 2)
    standings = run_tournament(plan, tmp_path, load=load_fake)
    broken = standings.players[-1]
    assert broken.name == "broken" and broken.score.losses == 2
    assert [(lost.opponent, lost.game) for lost in broken.forfeits] == [("random", 1), ("random", 2)]
    assert "crashed with KeyError" in broken.forfeits[0].reason
    assert "crashed with KeyError" in (tmp_path / "tournament.html").read_text()


def test_perfect_players_tie_and_are_above_random(tmp_path: Path) -> None:
    plan = Tournament(
        entrants("perfect=alphabeta:depth=9", "also=alphabeta:depth=8", "random"),
        TICTACTOE.options(),
        8,
        anchor="random",
    )
    standings = run_tournament(plan, tmp_path, workers=2)
    sums_agree(standings, 8)
    assert standings.table["perfect", "also"].mean == 0.5  # as often won as lost, from the same openings
    assert [player.name for player in standings.players][-1] == "random"
    assert standings.players[-1].rating.elo == 0 < standings.players[1].rating.elo
    assert standings.players[0].rating.elo - standings.players[1].rating.elo < standings.players[0].reach
