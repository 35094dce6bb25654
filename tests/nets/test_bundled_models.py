"""Every model that comes with Tengen still beats the opponent that docs/models.md names in its card."""

from pathlib import Path
from typing import Any

import pytest

from tengen.arena.match import Match, first_of, play_match_game
from tengen.games.go.rules import GoOptions
from tengen.games.microchess.board import MicrochessOptions
from tengen.games.state import FIRST, NOBODY, SECOND, Options
from tengen.nets.model_file import bundled_models, read_card

Settings = dict[str, Any]
GO19 = GoOptions(19, "tromp-taylor")
COUNTED: Settings = {"max_moves": 250}  # the board as it stands then
MATCHES: dict[str, tuple[str, str, int, float, Options, Settings]] = {
    "go5": ("zero:go5,sims=64", "uct:playouts=300", 6, 5, GoOptions(5, komi=3.5), {"first": "a", "opening_moves": 0}),
    "go9-selfplay": ("zero:go9-selfplay,sims=32", "uct:playouts=50", 4, 3, GoOptions(9, komi=7.0), {}),
    "go9": ("zero:go9,sims=32", "uct:playouts=200", 4, 3, GoOptions(9, komi=7.0), {}),
    "alphago9": ("zero:alphago9,sims=32", "uct:playouts=200", 4, 3, GoOptions(9, komi=7.0), {}),
    "zero9": ("zero:zero9,sims=32", "uct:playouts=200", 4, 3, GoOptions(9, komi=7.0), {}),
    "microchess": ("zero:microchess,sims=32", "uct:playouts=100", 4, 3, MicrochessOptions(), {}),
    "go19": ("policy:go19", "random", 2, 2, GO19, COUNTED),
    "fast19": ("fast-policy", "random", 2, 2, GO19, COUNTED),
    "fast9": ("fast-policy:fast9", "random", 4, 4, GoOptions(9, komi=7.0), {}),
}
"""Model, opponent, games, points that are enough, the game, settings of the match."""


@pytest.mark.parametrize("name", bundled_models())
def test_it_beats_the_opponent_of_its_card(name: str) -> None:
    model, opponent, games, enough, options, settings = MATCHES[name]
    match = Match(model, opponent, options, games, **settings)
    points = 0.0
    for number in range(1, games + 1):
        winner = play_match_game(match, number).winner
        ours = FIRST if first_of(match, number) == "a" else SECOND
        points += 0.5 if winner == NOBODY else winner == ours
    assert points >= enough


@pytest.mark.parametrize("name", bundled_models())
def test_its_card_and_the_page_tell_about_it(name: str) -> None:
    model, opponent, games, enough, *_ = MATCHES[name]
    page = (Path(__file__).parents[2] / "docs/models.md").read_text(encoding="utf-8")
    chapter = page.split(f"\n## {name}: ")[1].split("\n## ")[0]
    [tested] = [line for line in chapter.splitlines() if line.startswith("| tested |")]
    assert f"`{model}`" in tested and f"`{opponent}`" in tested and f"{enough:g} of {games}" in tested
    training = read_card(bundled_models()[name]).training
    assert training["strength"] and training["smoke"]["games"]
