"""What an agent's model was trained on, by its card: the options that suit it, and a warning in other games."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tengen.agents.agent import AgentError
from tengen.games.game import game_of, get_game
from tengen.games.state import AnyState
from tengen.runs.files import SettingValue

if TYPE_CHECKING:
    from tengen.nets.model_file import ModelCard


def suited_options(card: "ModelCard") -> dict[str, SettingValue]:
    """The options that the model was trained on; of a range, the middle. What the card leaves open is not there."""
    known = {field.name for field in fields(get_game(card.game).options)}
    suited: dict[str, SettingValue] = {"size": card.size}
    for name, value in card.conditions.items():
        if isinstance(value, tuple):
            suited[name] = round(sum(value)) / 2
        elif isinstance(value, str | bool):
            suited[name] = value
    return {name: value for name, value in suited.items() if name in known}


def warning(agent: str, card: "ModelCard", state: AnyState) -> str | None:
    """One line if a game is outside of what the model of an agent was trained on, else None."""
    here = game_of(state).options_of(state).settings()
    learned, played = list[str](), list[str]()
    for name, value in card.conditions.items():
        if value is None or name not in here:
            continue
        low: Any
        high: Any
        low, high = value if isinstance(value, tuple) else (value, value)
        if not low <= here[name] <= high:
            word = name.replace("_", " ")
            learned.append(f"{word} {_text(low)}" + (f" to {_text(high)}" if high != low else ""))
            played.append(f"{word} {_text(here[name])}")
    if not learned:
        return None
    return f"{agent} was trained with {', '.join(learned)}, and this game has {', '.join(played)}: it may misjudge it"


def refuse_other_games(name: str, card: "ModelCard", state: AnyState) -> None:
    """AgentError if a state is of another game, or another board, than the model of an agent has learned."""
    if state.game != card.game:
        known, played = get_game(card.game).title, game_of(state).title
        raise AgentError(f"{name} plays {known}, and this is a game of {played}")
    size = getattr(game_of(state).options_of(state), "size", card.size)
    if size != card.size:
        raise AgentError(f"{name} plays on {card.size}x{card.size} only, and this board is {size}x{size}")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
