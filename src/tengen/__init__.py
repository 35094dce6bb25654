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
    from tengen.arena.results import MatchSummary as MatchSummary
    from tengen.arena.statistics import Score as Score
    from tengen.data.build import build_dataset as build_dataset
    from tengen.data.dataset import Dataset as Dataset
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
    from tengen.learn.alphago import AlphaGoConfig as AlphaGoConfig
    from tengen.learn.alphago import learn_alphago as learn_alphago
    from tengen.learn.evaluate import evaluate_policy as evaluate_policy
    from tengen.learn.generations import learn_generations as learn_generations
    from tengen.learn.loader import PositionLoader as PositionLoader
    from tengen.learn.reinforce import learn_reinforce as learn_reinforce
    from tengen.learn.settings import GenerationsConfig as GenerationsConfig
    from tengen.learn.settings import ReinforceConfig as ReinforceConfig
    from tengen.learn.settings import SupervisedConfig as SupervisedConfig
    from tengen.learn.settings import ValueConfig as ValueConfig
    from tengen.learn.supervised import learn_supervised as learn_supervised
    from tengen.learn.value import learn_value as learn_value
    from tengen.learn.zero import learn_zero as learn_zero
    from tengen.learn.zero_settings import ZeroConfig as ZeroConfig
    from tengen.nets import layers as layers
    from tengen.nets.evaluator import Evaluator as Evaluator
    from tengen.nets.evaluator import Model as Model
    from tengen.nets.evaluator import load_evaluator as load_evaluator
    from tengen.nets.evaluator import load_model as load_model
    from tengen.nets.model_file import ModelCard as ModelCard
    from tengen.nets.model_file import save_model as save_model
    from tengen.nets.network import build_network as build_network
    from tengen.nets.openvino_evaluator import agreement as agreement
    from tengen.nets.openvino_evaluator import calibrate as calibrate
    from tengen.nets.openvino_evaluator import split_positions as split_positions
    from tengen.search.fast_policy import FastPolicy as FastPolicy
    from tengen.search.fast_policy import load_fast_policy as load_fast_policy
    from tengen.search.gumbel import Gumbel as Gumbel
    from tengen.search.gumbel import GumbelParameters as GumbelParameters
    from tengen.search.leaves import LeafEvaluation as LeafEvaluation
    from tengen.search.leaves import Leaves as Leaves
    from tengen.search.leaves import MixedEvaluation as MixedEvaluation
    from tengen.search.leaves import NetworkEvaluation as NetworkEvaluation
    from tengen.search.leaves import PlayoutEvaluation as PlayoutEvaluation
    from tengen.search.leaves import PolicyAndValue as PolicyAndValue
    from tengen.search.puct import Puct as Puct
    from tengen.search.puct import PuctParameters as PuctParameters
    from tengen.search.rollouts import FastRollouts as FastRollouts
    from tengen.search.rule import SearchResult as SearchResult
    from tengen.search.rule import SearchRule as SearchRule
    from tengen.search.searcher import Searcher as Searcher
    from tengen.search.tree import Trees as Trees
    from tengen.solve.go_solver import Solver as Solver
    from tengen.solve.go_solver import Verdict as Verdict

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
    "MatchSummary": "tengen.arena.results:MatchSummary",
    "Score": "tengen.arena.statistics:Score",
    "ModelCard": "tengen.nets.model_file:ModelCard",
    "load_evaluator": "tengen.nets.evaluator:load_evaluator",
    "build_network": "tengen.nets.network:build_network",
    "calibrate": "tengen.nets.openvino_evaluator:calibrate",
    "split_positions": "tengen.nets.openvino_evaluator:split_positions",
    "agreement": "tengen.nets.openvino_evaluator:agreement",
    "save_model": "tengen.nets.model_file:save_model",
    "FastPolicy": "tengen.search.fast_policy:FastPolicy",
    "PuctParameters": "tengen.search.puct:PuctParameters",
    "GumbelParameters": "tengen.search.gumbel:GumbelParameters",
    "Solver": "tengen.solve.go_solver:Solver",
    "Verdict": "tengen.solve.go_solver:Verdict",
    "build_dataset": "tengen.data.build:build_dataset",
    "Dataset": "tengen.data.dataset:Dataset",
    "PositionLoader": "tengen.learn.loader:PositionLoader",
    "ZeroConfig": "tengen.learn.zero_settings:ZeroConfig",
    "SupervisedConfig": "tengen.learn.settings:SupervisedConfig",
    "ReinforceConfig": "tengen.learn.settings:ReinforceConfig",
    "ValueConfig": "tengen.learn.settings:ValueConfig",
    "AlphaGoConfig": "tengen.learn.alphago:AlphaGoConfig",
    "GenerationsConfig": "tengen.learn.settings:GenerationsConfig",
    "learn_alphago": "tengen.learn.alphago:learn_alphago",
    "learn_generations": "tengen.learn.generations:learn_generations",
    "evaluate_policy": "tengen.learn.evaluate:evaluate_policy",
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
