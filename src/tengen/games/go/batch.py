"""Many games of Go side by side. A game ends with two passes, at a limit of moves, or without result by repetition.

`score.final_owners` decides what a finished game is worth, here as in matches: where the rules take dead stones off,
those in unconditional territory of the opponent are gone, and so are strings that `GoGames.dead` marks.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array, stack_zeros
from tengen.games.batch import BatchedGame
from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    HASH,
    KO,
    MOVES,
    NO_CELL,
    PASSES,
    PRISONERS_OF_BLACK,
    PRISONERS_OF_WHITE,
    SIZE,
    TO_PLAY,
    WHITE,
    Board,
    allocate,
    atari_cell,
    board_at,
    cell_count,
    clear,
    copy_board,
    is_only_liberty,
)
from tengen.games.go.coordinates import PASS, to_cell
from tengen.games.go.legality import VOID_REPETITIONS, legal_points, occurrences, play_move, position_key
from tengen.games.go.playout import CANDIDATES, add_quick_owners, is_eye, is_sensible, run_guided_playout
from tengen.games.go.positions import OLDEST, ages_of
from tengen.games.go.rules import BY_TERRITORY, POSITIONAL, SITUATIONAL, TERRITORY_KEPT, GoOptions, get_rules
from tengen.games.go.score import area, dead_cells, final_margin, final_owners, is_certain, playout_owners
from tengen.games.go.state import State
from tengen.games.kernels import implement

FLAGS, LIMIT, EVALUATION = range(3)  # columns of GoGames.rules
_PLAYOUTS = 64  # at most so many find the dead stones of a finished game of self-play


class GoGames(NamedTuple):
    """B games on boards of one size N, with room for histories of H positions and K snapshots of the past."""

    boards: Board  # fields [B, ...]
    history: NDArray[np.int64]  # [B, H] keys of all positions of the game, as `legality` has them
    length: NDArray[np.int64]  # [B] how many of them there are
    past: NDArray[np.uint8]  # [B, K, N * N] stones now and 1, 2, ... moves ago; EMPTY before the game began
    komi: NDArray[np.float32]  # [B] White's compensation, a handicap bonus included
    dead: NDArray[np.uint8]  # [B, P] the colour of stones that count as dead, else EMPTY
    recent: NDArray[np.int16]  # [B, 2] the cells of the last move and of the one before; NO_CELL for a pass or none
    placed: NDArray[np.int32]  # [B, N * N] the turn, from 1 on, of the last move on each point, else -OLDEST;
    #                            [B, 0] unless stone ages are asked for
    rules: NDArray[np.int64]  # [3] the flags of the rule set, the limit of moves, the evaluation: 0 area, 1 influence


class BatchedGo(BatchedGame):
    """Many games of Go on boards of one size, by one rule set; each may have a komi of its own."""

    def __init__(self, options: GoOptions, past: int = 0, ages: bool = False) -> None:
        """`past`: how many snapshots of the board are kept for encoders that look back; `ages`: whether it is kept when
        stones were placed, for encoders that show that."""
        rules = get_rules(options.rules)
        self.options = options
        self.height = self.width = size = options.size
        self.actions = self.branching = size**2 + 1
        self.limit = options.limit or 3 * size**2
        self._rules = np.array([rules.flags, self.limit, 0], np.int64)
        self.spread = 50.0 * size
        self._removes_dead, self._past, self._ages = rules.removes_dead, past, ages
        self._komi = options.komi + rules.bonus(options.handicap)

    def use_evaluation(self, number: int) -> None:
        """Evaluate by area (0) or influence (1), also in the games that are allocated already."""
        self._rules[EVALUATION] = number

    def allocate(self, count: int) -> GoGames:
        """`count` empty boards."""
        size = self.height
        games = GoGames(
            allocate(size, count),
            np.empty((count, self.limit + 1), np.int64),
            np.zeros(count, np.int64),
            np.zeros((count, self._past, size * size), np.uint8),
            np.full(count, self._komi, np.float32),
            np.zeros((count, cell_count(size)), np.uint8),
            np.zeros((count, 2), np.int16),
            np.zeros((count, size * size if self._ages else 0), np.int32),
            self._rules,
        )
        games.boards.info[:, SIZE] = size
        self.restart(games, np.arange(count))
        return games

    def load(self, games: GoGames, i: int, state: State) -> None:
        """Make game i this state; ValueError if it has gone on for too long for the arrays here."""
        if state.size != self.height:
            raise ValueError(f"the game is on {state.size}x{state.size}, and this is set up for {self.height}")
        length = len(state.history)
        if length >= games.history.shape[1]:
            raise ValueError(f"a game of {length - 1} moves is too long here: the limit is {self.limit}")
        copy_board(state.board, board_at(games.boards, i))
        games.boards.info[i, MOVES] = length - 1  # a game that began with set-up stones counts from there
        games.history[i, :length] = state.history
        games.length[i] = length
        games.komi[i] = state.komi + state.rules.bonus(state.handicap)
        games.dead[i] = EMPTY
        back: State | None = state
        for turn in range(self._past):
            games.past[i, turn] = 0 if back is None else back.stones.ravel()
            back = None if back is None else back.previous
        moves = [move for _, move in state.moves[:-3:-1]]
        games.recent[i] = [to_cell(move, state.size) if move >= 0 else NO_CELL for move in (*moves, PASS, PASS)][:2]
        if self._ages:
            ages = ages_of(state)
            games.placed[i] = np.where(ages == OLDEST, -OLDEST, length - ages)

    def vary(self, games: GoGames, index: NDArray[np.int64], spread: float, rng: np.random.Generator) -> None:
        """Draw the komi of these games: that of the options, up to `spread` points more or less, in half points."""
        if spread:
            halves = int(2 * spread)
            games.komi[index] = self._komi + rng.integers(-halves, halves + 1, len(index)) / 2

    def mark_dead(self, games: GoGames, i: int, points: frozenset[int]) -> None:
        """Count the stones on these points of game i as dead for as long as they stand as they do now."""
        games.dead[i] = EMPTY
        for point in points:
            cell = to_cell(point, self.height)
            games.dead[i, cell] = games.boards.color[i, cell]

    def score(self, games: GoGames, index: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """How these games stand: Black's margin float32[n], and the owner of every point int8[n, N * N], 1 Black's.

        Where the rules take dead stones off, playouts find those that are not dead for certain.
        """
        margins = np.empty(len(index), np.float32)
        ownership = np.empty((len(index), self.height * self.width), np.int8)
        playouts = _PLAYOUTS if self._removes_dead else 0
        score_games(games, index, self._rules[FLAGS], playouts, margins, ownership, allocate(self.height))
        return margins, ownership

    def estimate(
        self, games: GoGames, index: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.bool_]]:
        """How these games would end, by playouts: Black's mean margin float32[n], the owner of every point
        int8[n, N * N], 0 where playouts disagree, and whether they agree about most points, bool[n]."""
        margins, clear = np.empty(len(index), np.float32), np.empty(len(index), np.bool_)
        ownership = np.empty((len(index), self.height * self.width), np.int8)
        estimate_games(games, index, self._rules[FLAGS], _PLAYOUTS, margins, ownership, clear, allocate(self.height))
        return margins, ownership, clear


# --------------------------------------------------------------------------------------------- kernels


@kernel
def restart_game(games, i):  # type: ignore[no-untyped-def]
    """Set game i to the empty board; its komi stays."""
    board = board_at(games.boards, i)
    clear(board, board.info[SIZE])
    games.history[i, 0] = position_key(0, BLACK, games.rules[FLAGS])
    games.length[i] = 1
    games.past[i] = EMPTY
    games.dead[i] = EMPTY
    games.recent[i] = NO_CELL
    games.placed[i] = -OLDEST


@kernel
def copy_game(source, i, target, j):  # type: ignore[no-untyped-def]
    """Copy one game with its history."""
    copy_board(board_at(source.boards, i), board_at(target.boards, j))
    length = source.length[i]
    for k in range(length):
        target.history[j, k] = source.history[i, k]
    target.length[j] = length
    target.komi[j] = source.komi[i]
    for p in range(source.dead.shape[1]):
        target.dead[j, p] = source.dead[i, p]
    for t in range(source.past.shape[1]):
        for point in range(source.past.shape[2]):
            target.past[j, t, point] = source.past[i, t, point]
    target.recent[j, 0], target.recent[j, 1] = source.recent[i, 0], source.recent[i, 1]
    for point in range(source.placed.shape[1]):
        target.placed[j, point] = source.placed[i, point]


@kernel
def play_action(games, i, action):  # type: ignore[no-untyped-def]
    """Play a policy index in game i."""
    board = board_at(games.boards, i)
    size = board.info[SIZE]
    p = np.int64(NO_CELL)
    if action < size * size:
        p = action + action // size + size + 2
        if games.placed.shape[1] > 0:
            games.placed[i, action] = games.length[i]
    games.recent[i, 1] = games.recent[i, 0]
    games.recent[i, 0] = p
    play_move(board, p, board.info[TO_PLAY])
    games.history[i, games.length[i]] = position_key(board.info[HASH], board.info[TO_PLAY], games.rules[FLAGS])
    games.length[i] += 1
    _remember(games.past[i], board)


@kernel
def _remember(past, board):  # type: ignore[no-untyped-def]
    """Push the stones of a board in front of past: uint8[K, N * N]."""
    size = board.info[SIZE]
    for t in range(past.shape[0] - 1, 0, -1):
        for point in range(past.shape[1]):
            past[t, point] = past[t - 1, point]
    if past.shape[0] > 0:
        for row in range(size):
            for col in range(size):
                past[0, row * size + col] = board.color[(row + 1) * (size + 1) + col + 1]


@kernel
def judge_game(games, i, legal):  # type: ignore[no-untyped-def]
    """The legal actions of game i to legal: bool[N * N + 1]; returns (over, value for the player to move)."""
    board = board_at(games.boards, i)
    info, flags = board.info, games.rules[FLAGS]
    over, margin = _ending(games, i)
    if over:
        legal[:] = False
        return True, np.float32(np.sign(margin))
    points = legal.shape[0] - 1
    found = legal_points(board, info[TO_PLAY], flags, games.history[i, : games.length[i]], legal[:points])
    legal[points] = flags & TERRITORY_KEPT == 0 or found == 0
    return False, np.float32(0.0)


@kernel
def drop_senseless(games, i, legal):  # type: ignore[no-untyped-def]
    """Of the legal actions of game i in legal: bool[N * N + 1], take out those that fill an own eye or are suicide, and
    the pass, unless nothing else is left."""
    board = board_at(games.boards, i)
    size, color, flags = board.info[SIZE], board.info[TO_PLAY], games.rules[FLAGS]
    found = False
    for point in range(legal.shape[0] - 1):
        if legal[point]:
            legal[point] = is_sensible(board, point + point // size + size + 2, color, flags)
            found |= legal[point]
    legal[legal.shape[0] - 1] &= not found


@kernel(inline=True)
def _ending(games, i):  # type: ignore[no-untyped-def]
    """Whether game i is over, and by how many points the player to move has won it; 0 for a game without result."""
    board, flags = board_at(games.boards, i), games.rules[FLAGS]
    if board.info[PASSES] >= 2 or board.info[MOVES] >= games.rules[LIMIT]:
        margin = final_margin(board, flags, games.dead[i]) - games.komi[i]
        return True, margin if board.info[TO_PLAY] == BLACK else -margin
    length = games.length[i]
    if flags & (POSITIONAL | SITUATIONAL) == 0 and length >= 2 * VOID_REPETITIONS:
        return occurrences(games.history[i, length - 1], games.history[i, :length]) >= VOID_REPETITIONS, 0.0
    return False, 0.0


@kernel(inline=True)
def player_to_move(games, i):  # type: ignore[no-untyped-def]
    """BLACK or WHITE."""
    return games.boards.info[i, TO_PLAY]


@kernel(inline=True)
def position_hash(games, i):  # type: ignore[no-untyped-def]
    """Of the stones, the player to move, the ko, the passes, and prisoners where they are points. What superko forbids
    beyond that is not in it."""
    info = games.boards.info[i]
    more = 4096 * info[PASSES] + 2 * info[KO] + info[TO_PLAY]
    if games.rules[FLAGS] & BY_TERRITORY:
        more += (info[PRISONERS_OF_BLACK] - info[PRISONERS_OF_WHITE]) << 16
    return info[HASH] ^ more * 0x1F3D5B79A1C3E5


@kernel
def play_out(games, i, legal, state):  # type: ignore[no-untyped-def]
    """A guided playout, counted by area."""
    board = board_at(games.boards, i)
    mover = board.info[TO_PLAY]
    if board.info[PASSES] < 2:
        found, first_player = stack_array(CANDIDATES, np.int64), stack_zeros(board.color.shape[0], np.uint8)
        last, before = np.int64(games.recent[i, 0]), np.int64(games.recent[i, 1])
        state, _ = run_guided_playout(board, last, before, games.rules[FLAGS], found, first_player, state)
        margin = add_quick_owners(board, stack_zeros(board.color.shape[0], np.int64)) - games.komi[i]
    else:
        margin = final_margin(board, games.rules[FLAGS], games.dead[i]) - games.komi[i]
    return state, np.float32(np.sign(margin if mover == BLACK else -margin))


@kernel(inline=True)
def end_of_game(games, i, actions):  # type: ignore[no-untyped-def]
    """Whether game i is over, and hundredths of the points by which the player to move has won it then."""
    over, margin = _ending(games, i)
    return over, np.int64(np.rint(100 * margin))


@kernel
def list_actions(games, i, actions):  # type: ignore[no-untyped-def]
    """The legal actions of game i to actions: int16[N * N + 1]; returns (count, value if over, False)."""
    over, value = end_of_game(games, i, actions)
    count = 0
    if not over:
        legal = stack_array(actions.shape[0], np.bool_)
        judge_game(games, i, legal)
        for action in range(legal.shape[0]):
            if legal[action]:
                actions[count] = action
                count += 1
    return count, value, False


@kernel(inline=True)
def evaluate_game(games, i):  # type: ignore[no-untyped-def]
    """By how many hundredths of a point the player to move seems to lead."""
    board = board_at(games.boards, i)
    points = influence_area(board) if games.rules[EVALUATION] else area(board)
    value = 100 * points - np.int64(np.rint(100 * games.komi[i]))
    return value if board.info[TO_PLAY] == BLACK else -value


@kernel(inline=True)
def gain_of_action(games, i, action):  # type: ignore[no-untyped-def]
    """How promising a policy index looks; with captures and rescues it is above 0."""
    board = board_at(games.boards, i)
    size = board.info[SIZE]
    p = action + action // size + size + 2 if action < size * size else NO_CELL
    return gain_of_cell(board, p, games.rules[FLAGS])


# ------------------------------------------------------------------ scores and estimates of many games

_AT_ONCE = 8  # playouts between two looks at whether they agree


@kernel
def score_games(games, index, flags, playouts, margins, ownership, scratch):  # type: ignore[no-untyped-def]
    """How the games of index: int64[n] stand: margins: float32[n], Black's points minus White's and komi;
    ownership: int8[n, N * N], 1 where a point is Black's and -1 where it is White's. With playouts > 0, up to so many
    of them find the dead stones that are to be taken off, where these are not certain; flags: of the rule set;
    scratch: a board to play on."""
    cells = games.dead.shape[1]
    owner, dead, counts = stack_array(cells, np.uint8), stack_array(cells, np.bool_), stack_array(cells, np.int64)
    rng = stack_array(1, np.uint64)
    for k in range(index.shape[0]):
        i = index[k]
        board = board_at(games.boards, i)
        if playouts > 0 and not is_certain(board, flags):
            counts[:] = 0
            rng[0] = np.uint64(board.info[HASH]) | np.uint64(1)
            done = 0
            while done < playouts and (done == 0 or not _agree(board, counts, done)):
                playout_owners(board, scratch, flags, _AT_ONCE, rng, counts)
                done += _AT_ONCE
            dead_cells(board, counts, done, dead)
            for p in range(cells):
                games.dead[i, p] = board.color[p] if dead[p] else EMPTY
        final_owners(board, flags, games.dead[i], owner)
        size = board.info[SIZE]
        for row in range(size):
            for col in range(size):
                whose = owner[(row + 1) * (size + 1) + col + 1]
                ownership[k, row * size + col] = np.int8(whose == BLACK) - np.int8(whose == WHITE)
        margins[k] = final_margin(board, flags, games.dead[i]) - games.komi[i]


@kernel(inline=True)
def _agree(board, counts, playouts):  # type: ignore[no-untyped-def]
    """Whether seven playouts of eight agree on the owner of every stone's cell; counts: int64[P] is their sum."""
    for p in range(counts.shape[0]):
        c = board.color[p]
        if (c == BLACK or c == WHITE) and 4 * abs(counts[p]) < 3 * playouts:
            return False
    return True


@kernel
def estimate_games(games, index, flags, playouts, margins, ownership, clear, scratch):  # type: ignore[no-untyped-def]
    """How the games of index: int64[n] would end: margins: float32[n], the mean of Black's points minus White's and
    komi; ownership: int8[n, N * N], 1 Black's and -1 White's in two playouts of three, else 0; clear: bool[n], whether
    that decides three points of four; scratch: a board to play on."""
    counts, rng = stack_array(games.dead.shape[1], np.int64), stack_array(1, np.uint64)
    for k in range(index.shape[0]):
        board = board_at(games.boards, index[k])
        counts[:] = 0
        rng[0] = np.uint64(board.info[HASH]) | np.uint64(1)
        playout_owners(board, scratch, flags, playouts, rng, counts)
        size = board.info[SIZE]
        total = decided = np.int64(0)
        for row in range(size):
            for col in range(size):
                count = counts[(row + 1) * (size + 1) + col + 1]
                whose = np.int64(3 * count >= playouts) - np.int64(-3 * count >= playouts)
                ownership[k, row * size + col] = whose
                decided += abs(whose)
                total += count
        margins[k] = total / playouts - games.komi[index[k]]
        clear[k] = 4 * decided >= 3 * size * size


# ------------------------------------------------------------------ what alpha-beta asks about a board
# How it stands without looking further, and which moves to look at first.
#
# Beside the area as the board stands (`score.area`: exact at the end of a game, blind before walls are closed) there is
# `influence_area`, Bouzy's estimate of territory ("Mathematical Morphology Applied to Computer Go", 2003): stones
# radiate (dilation), then what rests on too little shrinks (erosion). With n dilations and n(n-1)+1 erosions a lone
# stone ends with itself only.

_STONE: Final = 128  # what a stone radiates from, in Bouzy's scale
_DILATIONS: Final = 4
_EROSIONS: Final = _DILATIONS * (_DILATIONS - 1) + 1

_CAPTURE, _RESCUE, _QUIET, _PASS, _EYE = 1_000, 300, -500, -1_000, -2_000


@kernel(inline=True)
def gain_of_cell(board, p, flags):  # type: ignore[no-untyped-def]
    """How promising a move of the player to play looks: captures above all, then stones saved from atari, then the
    middle before the edge; a pass (NO_CELL) after every move that does no harm at first sight, and last an eye filled.

    A search that keeps the first of equally good moves therefore never fills an eye without a reason.
    """
    if p == NO_CELL:
        return np.int64(_PASS)
    color = board.info[TO_PLAY]
    if is_eye(board, p, color, flags):
        return np.int64(_EYE)
    u, stride = np.uint64, board.info[SIZE] + 1
    found = np.int64(0)
    for q in (p - 1, p + 1, p - stride, p + stride):
        c = board.color[u(q)]
        if c != EMPTY and c != BORDER and is_only_liberty(board.liberties[board.head[u(q)]], p):
            found += _RESCUE if c == color else _CAPTURE
    if found == 0:
        found = np.int64(_QUIET)
    row, col = p // stride - 1, p % stride - 1
    return found + min(row, col, stride - 2 - row, stride - 2 - col)


@kernel
def influence_area(board):  # type: ignore[no-untyped-def]
    """Black's points minus White's by Bouzy's dilations and erosions, without komi.

    Strings that the player to move can capture at once count as gone.
    """
    now = stack_zeros(board.color.shape[0], np.int64)
    after = stack_zeros(board.color.shape[0], np.int64)
    for p in range(now.shape[0]):
        c = board.color[p]
        if c == BLACK or c == WHITE:
            if c == board.info[TO_PLAY] or atari_cell(board.liberties[board.head[p]]) == NO_CELL:
                now[p] = _STONE if c == BLACK else -_STONE
    for _ in range(_DILATIONS):
        _dilate(board, now, after)
        now, after = after, now
    for _ in range(_EROSIONS):
        _erode(board, now, after)
        now, after = after, now
    total = 0
    for p in range(now.shape[0]):
        total += np.sign(now[p])
    return total


@kernel
def _dilate(board, now, after):  # type: ignore[no-untyped-def]
    """Each point that no enemy touches gains one for each friendly neighbour."""
    stride = board.info[SIZE] + 1
    for p in range(now.shape[0]):
        after[p] = now[p]
        if board.color[p] != BORDER:
            black = white = 0
            for q in (p - 1, p + 1, p - stride, p + stride):
                black += now[q] > 0
                white += now[q] < 0
            if now[p] >= 0 and white == 0:
                after[p] += black
            if now[p] <= 0 and black == 0:
                after[p] -= white


@kernel
def _erode(board, now, after):  # type: ignore[no-untyped-def]
    """Each point loses one for each neighbour that is not friendly, down to nothing."""
    stride = board.info[SIZE] + 1
    for p in range(now.shape[0]):
        after[p] = now[p]
        if board.color[p] != BORDER and now[p] != EMPTY:
            sign = np.sign(now[p])
            strangers = 0
            for q in (p - 1, p + 1, p - stride, p + stride):
                strangers += board.color[q] != BORDER and now[q] * sign <= 0
            after[p] = sign * max(abs(now[p]) - strangers, 0)


implement(
    GoGames,
    restart=restart_game,
    copy=copy_game,
    play=play_action,
    judge=judge_game,
    sensible=drop_senseless,
    player=player_to_move,
    key=position_hash,
    playout=play_out,
    moves=list_actions,
    ending=end_of_game,
    evaluate=evaluate_game,
    gain=gain_of_action,
)
