"""Options of games: as values and as texts, and what is refused."""

import pytest

from tengen.games.game import game_names, get_game
from tengen.games.go.rules import GoOptions


def test_texts_and_values_give_the_same_options() -> None:
    assert GoOptions.of({"size": "9", "komi": "6.5", "rules": "aga"}) == GoOptions(9, "aga", 6.5)
    assert GoOptions.of({"size": None, "komi": 7}) == GoOptions(komi=7)
    options = get_game("microchess").options
    assert options.of({"double_step": "no"}) == options.of({"double_step": False})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"colour": 3}, "colour is not an option of go: it has size, rules, komi, handicap"),
        ({"double_step": True}, "double-step is not an option of go"),
        ({"komi": float("nan")}, "komi nan is not possible"),
        ({"komi": "nan"}, "komi nan is not possible"),
        ({"size": "large"}, "size=large is not possible: give a whole number"),
        ({"komi": "half"}, "komi=half is not possible: give a number"),
        ({"komi": "six\n\tand a half"}, "komi=six and a half is not possible: give a number$"),
    ],
)
def test_what_a_game_does_not_have_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GoOptions.of(given)


def test_every_game_names_itself_and_its_help_does() -> None:
    from tengen.cli.options import GameName

    for name in game_names():
        game = get_game(name)
        assert game.name == game.options.game == name
        assert name in GameName.__metadata__[0].help  # type: ignore[attr-defined]
        assert game.options_of(game.new(game.options())).game == name
