"""Many games in lock-step: one move of each per turn, so that a network sees the positions of all games together.

`play_in_lockstep` is the loop; whoever calls it says how the moves of a turn are chosen:

| chooses      | a move is                                                     | for                        |
|--------------|---------------------------------------------------------------|----------------------------|
| `PolicyPlay` | drawn from the softmax of a network's logits                  | AlphaGo's policies         |
| `ValuePlay`  | the one with the best value one ply ahead, or a random one    | Simple-Go's greedy player  |
| `TreePlay`   | the one that tree search over values finds, or a random one   | Simple-Go's stronger games |

All choose among the *sensible* actions, which in Go leave out moves that fill an own eye and suicide
(`games.kernels.sensible`, the sensibleness plane of AlphaGo); under Simple-Go's rules these are all legal moves. Like
AlphaGo's policy, nobody passes while there is anything else: games last until little is left to count, and a policy
cannot learn to win by passing early, when the opponent may pass as well and a count of unfinished positions decides.

    play = PolicyPlay(batch, [PolicyPlayer(encoder, learner), PolicyPlayer(encoder, opponent)], seed=1)
    boards = batch.allocate(512)
    turns = play_to_end(play, boards, first, second)     # first, second: int64[512], who plays which side
    results = final_results(batch, boards, 512)

    play = ValuePlay(batch, [evaluation, None])          # the second player moves at random
    actions = play.choose(boards, movers, at_random, uniform)     # movers: int64[B], who moves in each game
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array
from tengen.encode.encoder import Encoder
from tengen.games.batch import BatchedGame, GameArrays
from tengen.games.game import get_game, open_batch
from tengen.games.kernels import copy, ending, judge, next_random, play, random_below, restart, sensible
from tengen.games.state import Options
from tengen.nets.evaluator import Evaluator
from tengen.search.leaves import LeafEvaluation, new_leaves
from tengen.search.puct import Puct, PuctParameters
from tengen.search.searcher import Searcher

_AT_ONCE = 256  # positions that a network sees together: larger batches leave the processor's cache
_ROOM = 16_384  # children that are set up together, each a game with its history


def play_in_lockstep(
    game: BatchedGame,
    boards: GameArrays,
    count: int,
    choose: Callable[[int, NDArray[np.bool_]], NDArray[np.int64]],
    refill: Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Play the first `count` games side by side until all are over; yields the actions of each turn once they are
    played: int64[count], -1 where a game is over.

    `choose(turn, running)`: such actions for turn 0, 1, ..., given which games were not over a turn ago, bool[count].
    `refill(ended)`: sets up new games in place of those that have just ended, int64[n], and returns in which of them
    there is one, bool[n]; without it finished games wait for the others.
    """
    running, turn = np.ones(count, np.bool_), 0
    while running.any():
        actions = choose(turn, running)
        game.play(boards, actions)
        before, running = running, actions >= 0
        if refill is not None and len(ended := np.flatnonzero(before & ~running)):
            running[ended] = refill(ended)
        turn += 1
        yield actions


def actions_of(turns: Iterable[NDArray[np.int64]], count: int) -> NDArray[np.int16]:
    """The actions of all turns of so many games, int16[count, D]; -1 after the end of a game."""
    played = [actions.astype(np.int16) for actions in turns]
    if not played:
        return np.zeros((count, 0), np.int16)
    actions = np.stack(played, axis=1)
    return np.ascontiguousarray(actions[:, (actions >= 0).any(axis=0)])  # in the last turn nobody moved


def final_results(game: BatchedGame, boards: GameArrays, count: int) -> NDArray[np.int8]:
    """int8[count]: how the first games, which are over, ended for the first player: 1 won, 0 drawn, -1 lost.

    Where a game is counted, it is counted as in self-play and matches, with dead stones taken off.
    """
    if get_game(game.options.game).territory:
        return np.sign(game.score(boards, np.arange(count))[0]).astype(np.int8)
    legal, over = np.zeros((count, game.actions), np.bool_), np.zeros(count, np.bool_)
    values = np.zeros(count, np.float32)
    game.judge(boards, count, legal, over, values)
    return np.where(game.to_play(boards)[:count] == 1, values, -values).astype(np.int8)


# ---------------------------------------------------------------------------------------------------------- policies


class PolicyPlayer(NamedTuple):
    """A network whose policy plays."""

    encoder: Encoder
    evaluator: Evaluator


class PlayedTurns(NamedTuple):
    """What happened in B games over D turns; games that are over wait for the others."""

    actions: NDArray[np.int16]  # [B, D] -1 after the end of a game
    players: NDArray[np.int8]  # [B, D] who moved: 1 the first player, 2 the second, 0 nobody
    chances: NDArray[np.float32]  # [B, D] how likely each action was to be drawn; 1 where nobody moved

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[B]: how many moves each game has."""
        lengths: NDArray[np.int64] = (self.actions >= 0).sum(axis=1)
        return lengths


def batch_for(options: Options, encoders: Sequence[Encoder]) -> BatchedGame:
    """Many games at once that all of these encoders can show."""
    return open_batch(options, max(each.past for each in encoders), any(each.ages for each in encoders))


class PolicyPlay:
    """Draws moves in many games. A player that is None draws among all sensible actions alike."""

    def __init__(self, game: BatchedGame, players: Sequence[PolicyPlayer | None], seed: int | Sequence[int]) -> None:
        """`game`: with all that the players' encoders look at, see `batch_for`."""
        self.game, self.players = game, tuple(players)
        self.chances = np.ones(0, np.float32)
        """float32[B]: how likely the actions of the last `choose` were to be drawn; 1 where there is none."""
        self._rng = np.random.default_rng(seed)
        self._make_room(1)

    def choose(self, boards: GameArrays, movers: NDArray[np.int64], temperature: float = 1.0) -> NDArray[np.int64]:
        """int64[B]: an action for each of the first games, drawn by player movers[i] of int64[B]; -1 leaves a game out.

        Temperature 0 takes the likeliest. Where a game is over, the action is -1; `BatchedGame.play` leaves it alone.
        """
        actions = np.full(len(movers), -1, np.int64)
        self.chances = np.ones(len(movers), np.float32)
        for number, player in enumerate(self.players):
            index = np.flatnonzero(movers == number)
            if len(index) > len(self._logits):
                self._make_room(len(index))
            count = int(gather_games(boards, index, self._scratch, self._legal)) if len(index) else 0
            if count:
                self._evaluate(player, count)
                uniform = self._rng.random(count)
                draw_actions(self._logits[:count], self._legal, temperature, uniform, index, actions)
                if temperature > 0:
                    self.chances[index[:count]] = self._chances(actions[index[:count]], temperature)
        return actions

    def _evaluate(self, player: PolicyPlayer | None, count: int) -> None:
        """Write the logits of the first games of the scratch room."""
        if player is None:
            self._logits[:count] = 0.0
            return
        planes = np.empty((count, player.encoder.planes, self.game.height, self.game.width), np.uint8)
        player.encoder.encode_games(self._scratch, count, planes)
        for begin in range(0, count, _AT_ONCE):
            part = slice(begin, min(count, begin + _AT_ONCE))
            self._logits[part] = player.evaluator.evaluate(planes[part])[0]

    def _chances(self, actions: NDArray[np.int64], temperature: float) -> NDArray[np.float32]:
        """float32[n]: how likely an action is to be drawn in each of the first games of the scratch room."""
        count = len(actions)
        scaled = np.where(self._legal[:count], self._logits[:count] / np.float32(temperature), -np.inf)
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        chances: NDArray[np.float32] = weights[np.arange(count), actions] / weights.sum(axis=1)
        return chances

    def _make_room(self, count: int) -> None:
        self._scratch = self.game.allocate(count)
        self._legal = np.zeros((count, self.game.actions), np.bool_)
        self._logits = np.zeros((count, self.game.actions), np.float32)


def play_to_end(
    play: PolicyPlay,
    boards: GameArrays,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    temperature: float = 1.0,
) -> PlayedTurns:
    """Play the first B games to their end; first, second: int64[B], which player has the first player's moves in each,
    and which one the second's."""
    count = len(first)
    players: list[NDArray[np.int8]] = []
    chances: list[NDArray[np.float32]] = []

    def choose(_: int, running: NDArray[np.bool_]) -> NDArray[np.int64]:
        player = play.game.to_play(boards)[:count]
        drawn = play.choose(boards, np.where(running, np.where(player == 1, first, second), -1), temperature)
        players.append(np.where(drawn >= 0, player, 0).astype(np.int8))  # a game that has just ended is still `running`
        chances.append(play.chances)
        return drawn

    actions = actions_of(play_in_lockstep(play.game, boards, count, choose), count)
    turns = slice(0, actions.shape[1])  # in the last one nobody moved
    return PlayedTurns(actions, np.stack(players, axis=1)[:, turns], np.stack(chances, axis=1)[:, turns])


# ---------------------------------------------------------------------------------------------- values one ply ahead


class Children(NamedTuple):
    """The positions after every considered move of some games."""

    parent: NDArray[np.int64]  # [n] the number of the game
    action: NDArray[np.int64]  # [n]
    value: NDArray[np.float32]  # [n] to the player who made the move, -1 to 1


class ValuePlay:
    """Chooses moves in many games. A player is an evaluation of leaves, or None: it moves at random."""

    def __init__(self, game: BatchedGame, players: Sequence[LeafEvaluation | None]) -> None:
        """`game`: with all that the evaluations' encoders look at."""
        self.game, self.players = game, tuple(players)
        self.evaluations = 0
        """Positions that networks were asked about so far."""
        self.children = 0
        """Positions whose value was wanted so far."""
        self._legal = np.zeros((0, game.actions), np.bool_)
        self._scratch: GameArrays = None

    def choose(
        self, boards: GameArrays, movers: NDArray[np.int64], at_random: NDArray[np.bool_], uniform: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """int64[B]: an action for each of the first games, by player movers[i] of int64[B], or at random where
        at_random: bool[B] says so, by uniform: float64[B], 0 to 1; -1 where the game is over or movers[i] is -1."""
        count = len(movers)
        actions = np.full(count, -1, np.int64)
        if len(self._legal) < count:
            self._legal = np.zeros((count, self.game.actions), np.bool_)
        legal = self._legal[:count]
        choices = np.empty(count, np.int64)
        consider(boards, movers, legal, choices)
        nobody = np.array([player is None for player in self.players], np.bool_)
        drawn = (choices > 0) & (at_random | nobody[movers] | (choices == 1))
        draw_alike(legal, drawn, choices, uniform, actions)
        for number in range(len(self.players)):
            index = np.flatnonzero((choices > 0) & ~drawn & (movers == number))
            for children in self._evaluated(boards, index, legal, number):
                take_best(children.parent, children.action, children.value, actions)
        return actions

    def values(self, boards: GameArrays, number: int, player: int) -> dict[int, float]:
        """The value of every considered action of game `number` to its mover, by the evaluation of this player."""
        legal = np.zeros((number + 1, self.game.actions), np.bool_)
        movers = np.full(number + 1, -1, np.int64)
        movers[number] = player
        consider(boards, movers, legal, np.empty(number + 1, np.int64))
        found: dict[int, float] = {}
        for children in self._evaluated(boards, np.array([number]), legal, player):
            found |= {int(action): float(value) for action, value in zip(children.action, children.value)}
        return found

    def _evaluated(
        self, boards: GameArrays, index: NDArray[np.int64], legal: NDArray[np.bool_], number: int
    ) -> Iterator[Children]:
        """The children of these games, some thousand at a time, all of a game together."""
        player = self.players[number]
        if not len(index):
            return
        assert player is not None
        if self._scratch is None:
            self._scratch = self.game.allocate(_ROOM)
            self._leaves = new_leaves(_ROOM, self.game.actions)._replace(
                legal=np.zeros((_ROOM, 0), np.bool_), logits=np.zeros((_ROOM, 0), np.float32)
            )
            self._parent, self._action = np.zeros(_ROOM, np.int64), np.zeros(_ROOM, np.int64)
        leaves, begin = self._leaves, 0
        while begin < len(index):
            begin, count = make_children(
                boards, index, begin, legal, self._scratch, self._parent, self._action, leaves.over, leaves.results
            )
            leaves.over[count:] = True
            self.evaluations += player.evaluate(self._scratch, count, leaves)
            self.children += count
            values = -np.where(leaves.over[:count], leaves.results[:count], leaves.values[:count])
            yield Children(self._parent[:count], self._action[:count], values)


def play_at_random(game: BatchedGame, boards: GameArrays, count: int, seed: int) -> NDArray[np.int16]:
    """Play the first games to their end from the start position, moves being drawn among the sensible ones, all alike;
    returns the actions, int16[count, D], -1 after the end of a game."""
    longest = 64
    while True:
        actions = np.full((count, longest), -1, np.int16)
        length = int(random_games(boards, actions, np.zeros(game.actions, np.bool_), np.uint64(seed | 1)))
        if length <= longest:
            return np.ascontiguousarray(actions[:, :length])
        longest *= 2


# ------------------------------------------------------------------------------------------------------- tree search


class TreePlay:
    """Chooses moves in up to `trees` games by so many simulations each; trees are kept from move to move."""

    def __init__(
        self,
        game: BatchedGame,
        evaluation: LeafEvaluation,
        simulations: int,
        trees: int,
        seed: int,
        exploration: float = 1.0,
    ) -> None:
        """`game`: with all that the evaluation's encoder looks at; `exploration`: c of PUCT."""
        self._simulations = simulations
        self._searcher = Searcher(
            game,
            evaluation,
            Puct(PuctParameters(exploration, fpu_reduction=0.0)),
            trees=trees,
            nodes=2 * (simulations + 2) * game.branching,
            seed=seed,
        )
        self._legal = np.zeros((trees, game.actions), np.bool_)

    @property
    def children(self) -> int:
        """Positions whose value was wanted so far."""
        return self._searcher.counts.simulations

    @property
    def evaluations(self) -> int:
        """Positions that networks were asked about so far."""
        return self._searcher.counts.evaluations

    def choose(
        self, boards: GameArrays, movers: NDArray[np.int64], at_random: NDArray[np.bool_], uniform: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """int64[B]: an action for each of the first games, as `ValuePlay.choose`; it is the next one of the game."""
        actions = np.full(len(movers), -1, np.int64)
        legal = self._legal[: len(movers)]
        choices = np.empty(len(movers), np.int64)
        consider(boards, movers, legal, choices)
        drawn = (choices > 0) & (at_random | (choices == 1))
        draw_alike(legal, drawn, choices, uniform, actions)
        index = np.flatnonzero((choices > 0) & ~drawn)
        if len(index):
            actions[index] = self._searcher.search(boards, index, self._simulations).chosen
        self._searcher.advance(actions)
        return actions


# ----------------------------------------------------------------------------------------------------------- kernels


@kernel
def gather_games(games, index, scratch, legal):  # type: ignore[no-untyped-def]
    """Copy those games of index: int64[n] that go on to the front of scratch, their sensible actions to
    legal: bool[n, A], and their numbers to the front of index; returns how many they are."""
    count = 0
    for k in range(index.shape[0]):
        i = index[k]
        over, _ = judge(games, i, legal[count])
        if not over:
            sensible(games, i, legal[count])
            copy(games, i, scratch, count)
            index[count] = i
            count += 1
    return count


@kernel
def draw_actions(logits, legal, temperature, uniform, index, actions):  # type: ignore[no-untyped-def]
    """Draw actions[index[k]] from the softmax of logits[k] / temperature over legal[k]; temperature 0: the likeliest.

    logits: float32[n, A]; legal: bool[m, A], m >= n; uniform: float64[n], 0 to 1; index: int64[m]; actions: int64[B].
    """
    weights = stack_array(logits.shape[1], np.float64)
    for k in range(logits.shape[0]):
        best = -1
        for a in range(logits.shape[1]):
            if legal[k, a] and (best < 0 or logits[k, a] > logits[k, best]):
                best = a
        if temperature > 0:
            total = 0.0
            for a in range(logits.shape[1]):
                weights[a] = np.exp((logits[k, a] - logits[k, best]) / temperature) if legal[k, a] else 0.0
                total += weights[a]
            left = uniform[k] * total
            for a in range(logits.shape[1]):  # should rounding carry us past the end, it is the likeliest
                left -= weights[a]
                if left < 0:
                    best = a
                    break
        actions[index[k]] = best


@kernel
def consider(games, movers, legal, choices):  # type: ignore[no-untyped-def]
    """Write the sensible actions of the games with movers[i] >= 0 to legal: bool[B, A], and to choices:
    int64[B] how many there are, 0 where a game is over or has no mover."""
    choices[:] = 0
    for i in range(movers.shape[0]):
        if movers[i] >= 0:
            over, _ = judge(games, i, legal[i])
            if not over:
                sensible(games, i, legal[i])
                for action in range(legal.shape[1]):
                    choices[i] += legal[i, action]


@kernel
def draw_alike(legal, drawn, choices, uniform, actions):  # type: ignore[no-untyped-def]
    """Where drawn: bool[B], write one of the choices[i] legal actions to actions: int64[B]; uniform: float64[B]."""
    for i in range(drawn.shape[0]):
        if drawn[i]:
            left = min(np.int64(uniform[i] * choices[i]), choices[i] - 1)
            for action in range(legal.shape[1]):
                if legal[i, action]:
                    if left == 0:
                        actions[i] = action
                        break
                    left -= 1


@kernel
def make_children(games, index, begin, legal, children, parent, action, over, results):  # type: ignore[no-untyped-def]
    """Set up the children of games index[begin], index[begin + 1], ... for as long as there is room for all of a game.

    index: int64[n]; legal: bool[B, A]. Writes children, and for each of them parent, action: int64[L], whether it is
    over: bool[L], and results: float32[L], what it is worth to who is to move there. Returns (the index where to go on,
    how many children).
    """
    count, k = 0, begin
    scratch = stack_array(legal.shape[1], np.int16)
    while k < index.shape[0] and count + legal.shape[1] <= parent.shape[0]:
        i = index[k]
        for a in range(legal.shape[1]):
            if legal[i, a]:
                copy(games, i, children, count)
                play(children, count, a)
                over[count], value = ending(children, count, scratch)
                results[count] = np.sign(value) if over[count] else 0
                parent[count], action[count] = i, a
                count += 1
        k += 1
    return k, count


@kernel
def take_best(parent, action, value, actions):  # type: ignore[no-untyped-def]
    """Write the action of the best child of each game to actions: int64[B]; of equals the first."""
    best = np.float32(0.0)
    for k in range(parent.shape[0]):
        if k == 0 or parent[k] != parent[k - 1] or value[k] > best:
            best = value[k]
            actions[parent[k]] = action[k]


@kernel
def random_games(games, actions, legal, state):  # type: ignore[no-untyped-def]
    """Play random games from the start; actions: int16[B, D] is given their moves. Returns the longest length.

    legal: bool[A] is scratch room; state: of the random numbers, a non-zero uint64.
    """
    longest = 0
    for i in range(actions.shape[0]):
        restart(games, i)
        length = 0
        while True:
            over, _ = judge(games, i, legal)
            if over:
                break
            sensible(games, i, legal)
            choices = 0
            for action in range(legal.shape[0]):
                choices += legal[action]
            state = next_random(state)
            left = random_below(state, choices)
            for action in range(legal.shape[0]):
                if legal[action]:
                    if left == 0:
                        play(games, i, action)
                        if length < actions.shape[1]:
                            actions[i, length] = action
                        break
                    left -= 1
            length += 1
        longest = max(longest, length)
    return longest
