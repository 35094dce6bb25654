"""`tengen warm-up`: compile everything now, so that no first move has to wait for it."""

import sys
from typing import Annotated

import typer

_SPECS = (
    "uct:playouts=50",
    "alphago:alphago9,sims=16",
    "zero:go5,sims=16",
    "gumbel:go5,sims=16",
    "zero:microchess,sims=16",
    "alphabeta:depth=2",
    "mcts:playouts=16",
)


def say_if_cold() -> None:
    """Report on standard error that the first use compiles, if it will."""
    from tengen._kernel_cache import is_cold

    if is_cold():
        text = "compiling the rules engine, once: a minute or two, before the first move; or do it by `tengen warm-up`"
        print(text, file=sys.stderr, flush=True)


def warm_up(
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="Get these ready; without any, all kinds of agents and games are."),
    ] = None,
) -> None:
    """Compile the kernels for this machine, so that the first move of a game with a clock takes no longer than others.

    Compiled kernels are kept for later runs. A new version of Tengen compiles them again.
    """
    import time

    from tengen.agents.analysis import Analyst
    from tengen.agents.passing import count_now
    from tengen.agents.registry import load_agent, model_card
    from tengen.games import go
    from tengen.games.game import get_game

    for spec in agent or _SPECS:
        began, player, card = time.monotonic(), load_agent(spec, seed=1), model_card(spec)
        names = [card.game] if card is not None else ["go", "microchess"]
        for name in names:
            game = get_game(name)
            state = game.new(game.options())
            if card is not None and isinstance(state, go.State):
                state = go.State.new(card.size)
            state = state.play(player.choose(state, 1.0).move)
            if isinstance(player, Analyst):
                for _ in player.analyse(state, visits=16):
                    pass
            if isinstance(state, go.State):
                count_now(state, 0.0)
        player.close()
        print(f"{spec} is ready, {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
