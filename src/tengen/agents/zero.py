"""The AlphaGo Zero player: tree search guided by a network that judges positions and proposes moves.

Two searches share it: PUCT (`zero:go5,sims=64`) and Gumbel search (`gumbel:go5,sims=16`), for every game of which
there is a model. Trees are kept from move to move, as long as the game goes on from the position searched last.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tengen.agents.agent import AgentError, Decision
from tengen.agents.passing import wins_by_passing
from tengen.games.go import PASS, GameState
from tengen.games.microchess import GameState as ChessState
from tengen.games.microchess.tables import Tables
from tengen.games.microchess.tables_material import MAX_PIECES
from tengen.games.state import RESIGN, AnyState
from tengen.nets.evaluator import load_evaluator
from tengen.search.gumbel import GumbelParameters
from tengen.search.lockstep import GameSpec, Lockstep, open_game
from tengen.search.lockstep_microchess import MicrochessLockstep
from tengen.search.puct import PuctParameters
from tengen.search.searcher import Searcher, SearchResult
from tengen.search.tree import TERMINAL, action_value, find_child

_CLOCK_SHARE = 0.97  # of a time limit that goes to simulations
_ENDLESS = 1 << 30
_PLANNED = 20_000_000  # simulations times actions compared that a schedule of Gumbel search may have
_TOLD = 10  # how many moves a decision tells about
_ONLY = np.zeros(1, np.int64)  # the one tree that a player has


@dataclass(frozen=True)
class _NetworkSearch:
    """What both searches can be told."""

    model: str = "go9"
    sims: int | None = None
    seconds: float | None = None
    batch: int = 0
    """Leaves evaluated together; 0: one for few simulations, up to 16 for many."""
    temperature: float = 0.0
    """0 plays the best move; 1 draws as in self-play: PUCT from the shares of visits, Gumbel search by its noise."""
    resign: float = 0.0
    """Resign below this chance to win; 0: never."""
    tables: bool = False
    """Microchess: know positions of up to five pieces by the endgame tables (`tengen tables build microchess`)."""
    backend: str = "fastest"
    seed: int | None = None
    nodes: int = 1_000_000

    @property
    def kind(self) -> str:
        """The agent's name in specs."""
        return type(self).__name__.lower()

    def __post_init__(self) -> None:
        kind = self.kind
        if self.sims is not None and not 1 <= self.sims <= 10_000_000:
            raise ValueError(f"{kind}:sims={self.sims} is not possible: give 1 or more simulations")
        if self.seconds is not None and not 0 < self.seconds < 1e6:
            raise ValueError(f"{kind}:seconds={self.seconds} is not a time: give seconds for a move, such as 0.5")
        if not 0 <= self.batch <= 1024:
            raise ValueError(f"{kind}:batch={self.batch} is not possible: give 0 (automatic) to 1024")
        if not 0 <= self.temperature <= 10:
            raise ValueError(f"{kind}:temperature={self.temperature} is not possible: give 0 (best move) to 10")
        if not 0 <= self.resign < 0.5:
            raise ValueError(f"{kind}:resign={self.resign} is not possible: give a chance from 0 (never) to 0.5")
        if not 1_000 <= self.nodes <= 100_000_000:
            raise ValueError(f"{kind}:nodes={self.nodes} is not possible: give 1000 to 100000000")


@dataclass(frozen=True)
class Zero(_NetworkSearch):
    """AlphaGo Zero's search: PUCT with a network's policy and value."""

    exploration: float = PuctParameters().exploration

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.exploration < 1e6:
            raise ValueError(f"zero:exploration={self.exploration} is not possible: give 0 or more")


@dataclass(frozen=True)
class Gumbel(_NetworkSearch):
    """Gumbel search: sequential halving among the moves that a network proposes."""

    considered: int = GumbelParameters().considered
    value_scale: float = GumbelParameters().value_scale

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sims is None and self.seconds is not None:
            raise ValueError("gumbel plans its simulations in advance: give sims beside seconds, or take zero")
        if not 1 <= self.considered <= 1024:
            raise ValueError(f"gumbel:considered={self.considered} is not possible: give 1 to 1024")
        if not 0 <= self.value_scale < 1e6:
            raise ValueError(f"gumbel:value_scale={self.value_scale} is not possible: give 0 or more")
        if (self.sims or 0) * self.considered > _PLANNED:
            most = _PLANNED // self.considered
            raise ValueError(
                f"gumbel:sims={self.sims} is too much to plan: give up to {most} simulations, or take zero"
            )


class ZeroAgent:
    """A network with a search; which one, its settings say."""

    def __init__(self, settings: Zero | Gumbel, clock: Callable[[], float] = time.monotonic) -> None:
        self._evaluator, self._card = load_evaluator(settings.model, settings.backend)
        if not self._evaluator.architecture.value:
            raise AgentError(f"{settings.model} has no value head, which a search needs: train it by tengen learn zero")
        limited = settings.sims is not None or settings.seconds is not None
        self._settings = settings if limited else replace(settings, sims=64)
        self._clock = clock
        self._rng = np.random.default_rng(settings.seed)
        self._stop = threading.Event()
        self._spec: GameSpec | None = None
        self._searcher: Searcher | None = None
        self._root: AnyState | None = None
        self._tables: Tables | None = None
        limits = (f"{name}={getattr(self._settings, name)}" for name in ("sims", "seconds"))
        self.name = f"{settings.kind}:{settings.model}," + ",".join(
            text for text in limits if not text.endswith("None")
        )

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """Search from `state` and decide."""
        self._refuse_other_games(state)
        self._stop.clear()
        if state.is_over:
            return Decision(PASS, note="the game is over")
        limits = [limit for limit in (self._settings.seconds, seconds) if limit is not None]
        limit = min(limits) if limits else None
        if isinstance(state, GameState) and state.last_move == PASS and wins_by_passing(state, limit):
            return Decision(PASS, 1.0, pv=(PASS,), note="passing ends the game, won")
        by_table = self._by_tables(state)
        if by_table is not None:
            return by_table
        game, searcher, roots = self._ready(state)
        started, before = self._clock(), searcher.counts.simulations
        result = self._search(searcher, roots, None if limit is None else started + limit * _CLOCK_SHARE)
        simulations = searcher.counts.simulations - before
        note = f"{simulations} simulations in {self._clock() - started:.1f} s"
        return self._decide(game, searcher, state, result, note)

    def check(self, state: AnyState) -> None:
        """Get ready to move at once; AgentError if this is not a game that the model has learned."""
        self._refuse_other_games(state)
        if self._searcher is None and not state.is_over:
            _, searcher, roots = self._ready(state)
            searcher.warm_up(roots, _ONLY)

    def stop(self) -> None:
        """Let a `choose` in another thread return with the best it knows."""
        self._stop.set()

    def close(self) -> None:
        """Free the tree."""
        self._searcher = self._root = self._spec = None

    # --------------------------------------------------------------------------------------- searching

    def _refuse_other_games(self, state: AnyState) -> None:
        """AgentError if this is not a game that the model has learned."""
        if state.game != self._card.game:
            raise AgentError(f"{self.name} plays {self._card.game.title()}, and this is a game of {state.game.title()}")
        if isinstance(state, GameState) and state.size != self._card.size:
            size = self._card.size
            raise AgentError(f"{self.name} plays on {size}x{size} only, and this board is {state.size}x{state.size}")
        try:
            open_game(_spec_of(state, self._card.encoder))
        except ValueError as error:
            raise AgentError(f"{self.name} cannot play this: {error}") from None

    def _by_tables(self, state: AnyState) -> Decision | None:
        """The best move by the endgame tables, if they are asked for and know the position."""
        if not self._settings.tables or not isinstance(state, ChessState) or state.rules != "standard":
            return None
        moves = (
            self._open_tables(state.double_step).moves(state)
            if np.count_nonzero(state.board.squares) <= MAX_PIECES
            else None
        )
        if not moves:
            return None
        best = moves[0]
        return Decision(best.move, (best.value.wdl + 1) / 2, pv=(best.move,), note=f"by table: {best.value}")

    def _open_tables(self, double_step: bool) -> Tables:
        if self._tables is None or self._tables.double_step != double_step:
            self._tables = Tables.open(double_step=double_step)
        return self._tables

    def _ready(self, state: AnyState) -> tuple[Lockstep, Searcher, object]:
        """The game, a searcher whose tree belongs to `state`, and `state` as the game's arrays."""
        spec = _spec_of(state, self._card.encoder)
        if self._searcher is None or self._spec is None or not _fits(self._spec, spec):
            self._spec, self._root = spec, None
            game = open_game(spec)
            if self._settings.tables and isinstance(game, MicrochessLockstep) and spec.rules == "standard":
                game.use_tables(self._open_tables(spec.double_step))
            self._searcher = self._new_searcher(game)
        searcher, game = self._searcher, self._searcher.game
        actions = _actions_between(self._root, state, game)
        if actions is None:
            searcher.forget(_ONLY)
        else:
            for action in actions:
                searcher.advance(np.array([action]))
        self._root = state
        roots = game.allocate(1)
        game.load(roots, 0, state)
        return game, searcher, roots

    def _new_searcher(self, game: Lockstep) -> Searcher:
        settings = self._settings
        parameters: PuctParameters | GumbelParameters
        if isinstance(settings, Zero):
            parameters = PuctParameters(settings.exploration)
        else:
            parameters = GumbelParameters(settings.considered, value_scale=settings.value_scale)
        batch = settings.batch or (16 if settings.sims is None else max(1, min(16, settings.sims // 32)))
        seed = int(self._rng.integers(2**63))
        return Searcher(game, self._evaluator, parameters, nodes=settings.nodes, leaves=batch, cache=1 << 15, seed=seed)

    def _search(self, searcher: Searcher, roots: object, deadline: float | None) -> SearchResult:
        """Simulate until the limit of simulations or of time is reached, or someone says stop."""
        settings = self._settings
        simulations = _ENDLESS if settings.sims is None else settings.sims
        noise = settings.temperature if isinstance(settings, Gumbel) else 0.0
        searcher.begin(roots, _ONLY, simulations, noise)
        now, last = self._clock(), 0.0
        while not self._stop.is_set() and (deadline is None or now + last < deadline):  # another like the last fits in
            if not searcher.step(roots, _ONLY) or _is_solved(searcher):
                break
            before, now = now, self._clock()
            last = now - before
        return searcher.conclude(_ONLY)

    # ---------------------------------------------------------------------------------------- deciding

    def _decide(self, game: Lockstep, searcher: Searcher, state: AnyState, result: SearchResult, note: str) -> Decision:
        """The search's result in the terms of the game."""
        action = int(result.chosen[0])
        visits = result.visits[0]
        if isinstance(self._settings, Zero) and self._settings.temperature > 0:
            weights = (visits / max(1, visits.max())) ** (1.0 / self._settings.temperature)
            if weights.sum() > 0:
                action = int(self._rng.choice(len(weights), p=weights / weights.sum()))
        trees = searcher.trees
        first = int(trees.first_child[0, 0])
        children = range(first, first + int(trees.child_count[0, 0]))
        order = sorted(children, key=lambda child: (-trees.visits[0, child], -trees.prior[0, child]))[:_TOLD]
        moves = {child: game.move_of(state, int(trees.action[0, child])) for child in order}
        value = float(result.value[0] + 1) / 2
        chosen = int(find_child(trees, 0, 0, action))
        if trees.stage[0, chosen] == TERMINAL:  # what is certain need not be estimated
            value = _chance(searcher, chosen)
        decision = Decision(
            game.move_of(state, action),
            value,
            visits={moves[child]: int(trees.visits[0, child]) for child in order},
            values={moves[child]: _chance(searcher, child) for child in order if trees.visits[0, child]},
            priors={moves[child]: float(np.exp(trees.logit[0, child])) for child in order},
            pv=_principal_variation(game, searcher, state, action),
            note=note,
            nodes=int(visits.sum()),
        )
        if value < self._settings.resign and isinstance(state, GameState):
            return replace(decision, move=RESIGN)
        return decision


def _spec_of(state: AnyState, encoder: str) -> GameSpec:
    """The game that a state belongs to, with room to play on."""
    if isinstance(state, GameState):
        points = state.size**2
        limit = 4 * points * (1 + len(state.history) // (2 * points))
        komi = state.compensation
        return GameSpec("go", state.size, state.rules.name, komi, encoder=encoder, limit=limit)
    assert isinstance(state, ChessState)  # `check` has seen to it
    return GameSpec(state.game, 5, state.rules, 0.0, state.double_step, encoder)


def _fits(kept: GameSpec, wanted: GameSpec) -> bool:
    """Whether a searcher set up for one game serves for another: the same, with as much room or more."""
    return kept.limit >= wanted.limit and replace(kept, limit=wanted.limit) == wanted


def _actions_between(root: AnyState | None, state: AnyState, game: Lockstep) -> list[int] | None:
    """The actions that lead from the position searched last to this one; None if it is another game."""
    actions: list[int] = []
    here: AnyState = state
    while root is not None and here is not root:
        before, move = here.previous, here.last_move
        if before is None or move is None or here.move_number <= root.move_number:
            return None
        if here.to_play == before.to_play or (isinstance(here, GameState) and here.last_color != before.to_play):
            return None  # someone moved out of turn
        actions.append(game.action_of(before, move))
        here = before
    return None if root is None else actions[::-1]


def _chance(searcher: Searcher, child: int) -> float:
    """The chance to win with the move that leads to a child of the root."""
    return (float(action_value(searcher.trees, 0, child)) + 1) / 2


def _is_solved(searcher: Searcher) -> bool:
    """Whether no more simulation can change the choice: a move wins for certain, or all moves are solved."""
    trees, first = searcher.trees, int(searcher.trees.first_child[0, 0])
    children = slice(first, first + int(trees.child_count[0, 0]))
    solved = trees.stage[0, children] == TERMINAL
    return bool(solved.all() or (solved & (trees.value[0, children] < 0)).any())


def _principal_variation(game: Lockstep, searcher: Searcher, state: AnyState, action: int) -> tuple[int, ...]:
    """The line of most visits, beginning with this action."""
    trees, node = searcher.trees, 0
    line: list[int] = []
    while action >= 0 and len(line) < 20:
        move = game.move_of(state, action)
        line.append(move)
        state = state.play(move)
        node = int(find_child(trees, 0, node, action))
        if state.is_over or node < 0:
            break
        first, count = int(trees.first_child[0, node]), int(trees.child_count[0, node])
        visits = trees.visits[0, first : first + count]
        if count == 0 or visits.max() == 0:
            break
        action = int(trees.action[0, first + int(visits.argmax())])
    return tuple(line)
