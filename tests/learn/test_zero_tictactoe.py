"""The loop learns, every time: from nothing but the rules of tic-tac-toe to perfect play, by its preset."""

from pathlib import Path

import numpy as np

from tengen.agents.registry import load_agent
from tengen.games.game import get_game
from tengen.learn.zero import learn_zero
from tengen.learn.zero_settings import ZeroConfig
from tengen.nets.evaluator import load_evaluator
from tengen.search.leaves import NetworkEvaluation
from tengen.search.puct import Puct
from tengen.search.searcher import Searcher

from ..search.tictactoe import Board, all_positions, best_squares, minimax
from .zero_stand_ins import InlineWorkers

_SIMULATIONS = 64


def mistakes(model: Path, positions: list[Board]) -> tuple[int, int]:
    """In how many of these positions a move loses something, by the network alone and with a search."""
    spec, count = ZeroConfig.preset_config("tictactoe").game_spec(), len(positions)
    games = spec.batch.allocate(count)
    games.squares[:] = positions
    games.moves[:] = (games.squares > 0).sum(axis=1)
    evaluator, _ = load_evaluator(str(model), "openvino")
    planes = np.zeros((count, *spec.shape), np.uint8)
    spec.encoder.encode_games(games, count, planes)
    alone = np.where(games.squares == 0, evaluator.evaluate(planes)[0], -np.inf).argmax(axis=1)
    network = NetworkEvaluation(spec.batch, spec.encoder, evaluator)
    searcher = Searcher(spec.batch, network, Puct(), trees=count, nodes=9 * (_SIMULATIONS + 2), seed=1)
    searched = searcher.search(games, np.arange(count), _SIMULATIONS).chosen
    best = [best_squares(board) for board in positions]
    counts = (sum(int(move) not in good for move, good in zip(moves, best)) for moves in (alone, searched))
    return next(counts), next(counts)


def test_from_nothing_to_perfect_play(tmp_path: Path) -> None:
    """From every position that is not lost, as either player, the agent keeps what minimax says it is worth."""
    learn_zero(ZeroConfig.preset_config("tictactoe"), tmp_path, hosts=InlineWorkers, report=False)
    positions = [board for board in all_positions() if minimax(board) >= 0]
    alone, searched = mistakes(tmp_path / "best.safetensors", positions)
    assert searched == 0
    assert alone < len(positions) / 20  # the network itself has learned, not only the search knows
    first, _ = mistakes(tmp_path / "models" / "g0000.safetensors", positions)
    assert first > len(positions) / 4
    agent, game = load_agent(f"zero:{tmp_path / 'best.safetensors'},sims={_SIMULATIONS}"), get_game("tictactoe")
    state = game.new(game.options())
    while not state.is_over:
        state = state.play(agent.choose(state).move)
    assert state.result() == "draw"
