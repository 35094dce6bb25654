"""Games of self-play for people: the last position as a picture, the moves as text."""

from dataclasses import dataclass
from html import escape

from tengen.games.game import get_game
from tengen.games.options import Options


@dataclass(frozen=True)
class ShownGame:
    """A game to look at."""

    picture: str
    """SVG of the last position."""
    text: str
    """Its moves."""
    result: str
    length: int
    origin: str


def replay_game(options: Options, actions: list[int], winner: int, resigned: bool, origin: str) -> ShownGame:
    """A game from its actions."""
    game = get_game(options.game)
    state = game.new(options)
    words: list[str] = []
    numbers: dict[int, str] = {}
    for number, action in enumerate(actions):
        move = state.move_of(action)
        words.append(state.move_name(move))
        numbers[move] = str(number + 1)
        state = state.play(move)
    result = "drawn" if winner == 0 else f"{game.players[winner - 1]} won{' by resignation' if resigned else ''}"
    return ShownGame(game.picture(state, numbers), " ".join(words), result, len(actions), origin)


def show_game(game: ShownGame) -> str:
    """A game with its caption, for a page of HTML."""
    return (
        f"<figure>{game.picture}<figcaption><p><b>{escape(game.result)}</b> in {game.length} moves</p>"
        f'<p class="moves">{escape(game.text)}</p><small>{escape(game.origin)}</small></figcaption></figure>'
    )
