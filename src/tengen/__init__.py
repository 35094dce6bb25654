"""Tengen: the AlphaGo family in one Python package, fast on a laptop.

>>> import tengen
>>> state = tengen.go.State.new(size=9)
>>> decision = tengen.load_agent("uct:playouts=200", seed=1).choose(state)
>>> state = state.play(decision.move)
>>> state.move_number
1

What you can import from here is loaded when you first use it: `import tengen` alone takes no time.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tengen import envs as envs
    from tengen import testing as testing
    from tengen._plugins import register as register
    from tengen.agents.agent import Agent as Agent
    from tengen.agents.agent import Decision as Decision
    from tengen.agents.analysis import Analysis as Analysis
    from tengen.agents.analysis import Analyst as Analyst
    from tengen.agents.analysis import MoveAnalysis as MoveAnalysis
    from tengen.agents.registry import load_agent as load_agent
    from tengen.agents.registry import load_analyst as load_analyst
    from tengen.arena.game import GameRecord as GameRecord
    from tengen.arena.game import play_game as play_game
    from tengen.arena.play_match import play_match as play_match
    from tengen.encode.encoder import Encoder as Encoder
    from tengen.encode.encoder import get_encoder as get_encoder
    from tengen.games import go as go
    from tengen.games import kernels as kernels
    from tengen.games import microchess as microchess
    from tengen.games import tictactoe as tictactoe
    from tengen.games.batch import BatchedGame as BatchedGame
    from tengen.games.board_game import BoardGame as BoardGame
    from tengen.games.game import Game as Game
    from tengen.games.game import game_names as game_names
    from tengen.games.game import get_game as get_game
    from tengen.games.state import AnyState as AnyState
    from tengen.games.state import Options as Options
    from tengen.games.symmetry import square_symmetries as square_symmetries
    from tengen.learn.reinforce import learn_reinforce as learn_reinforce
    from tengen.learn.supervised import learn_supervised as learn_supervised
    from tengen.learn.value import learn_value as learn_value
    from tengen.learn.zero import learn_zero as learn_zero
    from tengen.nets import layers as layers
    from tengen.nets.evaluator import Evaluator as Evaluator
    from tengen.nets.evaluator import Model as Model
    from tengen.nets.evaluator import load_model as load_model
    from tengen.search.fast_policy import load_fast_policy as load_fast_policy
    from tengen.search.gumbel import Gumbel as Gumbel
    from tengen.search.leaves import LeafEvaluation as LeafEvaluation
    from tengen.search.leaves import Leaves as Leaves
    from tengen.search.leaves import MixedEvaluation as MixedEvaluation
    from tengen.search.leaves import NetworkEvaluation as NetworkEvaluation
    from tengen.search.leaves import PlayoutEvaluation as PlayoutEvaluation
    from tengen.search.leaves import PolicyAndValue as PolicyAndValue
    from tengen.search.puct import Puct as Puct
    from tengen.search.rollouts import FastRollouts as FastRollouts
    from tengen.search.rule import SearchResult as SearchResult
    from tengen.search.rule import SearchRule as SearchRule
    from tengen.search.searcher import Searcher as Searcher
    from tengen.search.tree import Trees as Trees

__version__ = "0.1.0"

_PLACES = {
    "go": "tengen.games.go",
    "microchess": "tengen.games.microchess",
    "tictactoe": "tengen.games.tictactoe",
    "game_names": "tengen.games.game:game_names",
    "get_game": "tengen.games.game:get_game",
    "Game": "tengen.games.game:Game",
    "load_agent": "tengen.agents.registry:load_agent",
    "Agent": "tengen.agents.agent:Agent",
    "Decision": "tengen.agents.agent:Decision",
    "Analysis": "tengen.agents.analysis:Analysis",
    "play_game": "tengen.arena.game:play_game",
    "play_match": "tengen.arena.play_match:play_match",
    "load_model": "tengen.nets.evaluator:load_model",
    "Model": "tengen.nets.evaluator:Model",
    "get_encoder": "tengen.encode.encoder:get_encoder",
    "Searcher": "tengen.search.searcher:Searcher",
    "Puct": "tengen.search.puct:Puct",
    "Gumbel": "tengen.search.gumbel:Gumbel",
    "NetworkEvaluation": "tengen.search.leaves:NetworkEvaluation",
    "PlayoutEvaluation": "tengen.search.leaves:PlayoutEvaluation",
    "MixedEvaluation": "tengen.search.leaves:MixedEvaluation",
    "PolicyAndValue": "tengen.search.leaves:PolicyAndValue",
    "FastRollouts": "tengen.search.rollouts:FastRollouts",
    "load_fast_policy": "tengen.search.fast_policy:load_fast_policy",
    "learn_zero": "tengen.learn.zero:learn_zero",
    "learn_supervised": "tengen.learn.supervised:learn_supervised",
    "learn_reinforce": "tengen.learn.reinforce:learn_reinforce",
    "learn_value": "tengen.learn.value:learn_value",
    "load_analyst": "tengen.agents.registry:load_analyst",
    "Analyst": "tengen.agents.analysis:Analyst",
    "MoveAnalysis": "tengen.agents.analysis:MoveAnalysis",
    "AnyState": "tengen.games.state:AnyState",
    "BatchedGame": "tengen.games.batch:BatchedGame",
    "Encoder": "tengen.encode.encoder:Encoder",
    "Evaluator": "tengen.nets.evaluator:Evaluator",
    "GameRecord": "tengen.arena.game:GameRecord",
    "LeafEvaluation": "tengen.search.leaves:LeafEvaluation",
    "Leaves": "tengen.search.leaves:Leaves",
    "SearchResult": "tengen.search.rule:SearchResult",
    "SearchRule": "tengen.search.rule:SearchRule",
    "Trees": "tengen.search.tree:Trees",
    "envs": "tengen.envs",
    "register": "tengen._plugins:register",
    "BoardGame": "tengen.games.board_game:BoardGame",
    "Options": "tengen.games.state:Options",
    "kernels": "tengen.games.kernels",
    "square_symmetries": "tengen.games.symmetry:square_symmetries",
    "layers": "tengen.nets.layers",
    "testing": "tengen.testing",
}
"""Where each public name is: a module, or what is in it after the colon."""

__all__ = list(_PLACES)

if not TYPE_CHECKING:  # type checkers read the imports above instead

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used (PEP 562)."""
        if name not in _PLACES:
            raise AttributeError(f"module 'tengen' has no attribute {name!r}")
        from importlib import import_module

        module, _, attribute = _PLACES[name].partition(":")
        found = import_module(module)
        globals()[name] = found = getattr(found, attribute) if attribute else found
        return found


def __dir__() -> list[str]:
    return [*_PLACES, "__version__"]
