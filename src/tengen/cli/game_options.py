"""The options of games, for every command that plays one: declared here once, and checked by the game itself."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tengen.games.game import Game

DEFAULT_GAME = "go"
GAMES = "go, microchess or tictactoe"

GameName = Annotated[
    str | None,
    typer.Option(
        "--game",
        help=f"The game: {GAMES}; if not given, the one that an agent's model learned, or go.",
        show_default=False,
    ),
]
Size = Annotated[
    int | None, typer.Option(help="Go: board size, 2 to 25; 9 if not given, 5 for simple-go.", show_default=False)
]
Rules = Annotated[
    str | None,
    typer.Option(
        help="Go: chinese, japanese, aga, new-zealand, tromp-taylor or simple-go; chinese if not given. "
        "Microchess: standard or ncsoft; standard if not given.",
        show_default=False,
    ),
]
Komi = Annotated[
    float | None,
    typer.Option(
        help="Go: White's points for moving second; the rule set's if not given, 0.5 with handicap.",
        show_default=False,
    ),
]
Handicap = Annotated[
    int | None,
    typer.Option(help="Go: stones that Black has on the board before White begins, 2 to 9.", show_default=False),
]
DoubleStep = Annotated[
    bool | None,
    typer.Option(
        "--double-step/--no-double-step",
        help="Microchess: may a pawn step two squares at first? It may if not given.",
        show_default=False,
    ),
]
OtherOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Another option of the game; may be repeated."),
]


def given_options(others: Sequence[str] | None, **given: Any) -> dict[str, Any]:
    """The options that were given on the command line; `others` as NAME=VALUE."""
    values = {name: value for name, value in given.items() if value is not None}
    for text in others or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--option {text[:40]} is not possible: write NAME=VALUE")
        values[name.strip().replace("-", "_")] = value.strip()
    return values


def choose_game(name: str | None, specs: Sequence[str]) -> "Game":
    """The game of this name; without one, the game of the first agent that has a model, or Go."""
    from tengen.agents.registry import model_card
    from tengen.games.game import get_game

    if name is None:
        name = next((card.game for spec in specs if (card := model_card(spec)) is not None), DEFAULT_GAME)
    return get_game(name)


def choose_options(game: "Game", given: Mapping[str, Any], specs: Sequence[str]) -> Any:
    """The options of a game: as given, else as the model of the first agent that has one was trained, else defaults."""
    from tengen.agents.conditions import suited_options
    from tengen.agents.registry import model_card

    cards = [card for spec in specs if (card := model_card(spec)) is not None and card.game == game.name]
    suited = suited_options(cards[0]) if cards else {}
    if given.get("handicap"):
        suited.pop("komi", None)  # handicap games have a komi of their own
    return game.options.of({**suited, **given})
