"""Games of self-play for people: the last position as a picture, the moves as text."""

from dataclasses import dataclass
from typing import Any, Final

from tengen.search.lockstep import GameSpec, open_game

_NAMES: Final = {"go": ("Black", "White"), "microchess": ("White", "Black")}


@dataclass(frozen=True)
class GameRecord:
    """A game to look at."""

    picture: str
    """SVG of the last position."""
    text: str
    """Its moves."""
    result: str
    length: int
    origin: str


def start_position(spec: GameSpec) -> Any:
    """The friendly state that a game begins with."""
    if spec.game == "go":
        from tengen.games.go import GameState

        return GameState.new(size=spec.size, rules=spec.rules, komi=spec.komi)
    from tengen.games.microchess.state import GameState as MicrochessState

    return MicrochessState.new(rules=spec.rules, double_step=spec.double_step)


def replay_game(spec: GameSpec, actions: list[int], winner: int, resigned: bool, origin: str) -> GameRecord:
    """A game from its actions."""
    game, state = open_game(spec), start_position(spec)
    words: list[str] = []
    numbers: dict[int, str] = {}
    for number, action in enumerate(actions):
        move = game.move_of(state, action)
        words.append(state.move_name(move))
        numbers[move] = str(number + 1)
        state = state.play(move)
    if spec.game == "go":
        from tengen.games.go.draw import board_svg

        standing = {move: text for move, text in numbers.items() if move >= 0 and state.color_at(move)}
        picture = board_svg(state, labels=standing)
    else:
        picture = state._repr_svg_()
    result = "drawn" if winner == 0 else f"{_NAMES[spec.game][winner - 1]} won{' by resignation' if resigned else ''}"
    return GameRecord(picture, " ".join(words), result, len(actions), origin)
