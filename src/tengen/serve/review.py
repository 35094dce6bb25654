"""A whole game analysed: the chance to win after every move, where it was thrown away, and comments for its record."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tengen.agents.analysis import Analysis, Analyst, MoveAnalysis
from tengen.agents.batch_analysis import AnalysisTask, batch_analyser
from tengen.games.game import Record, game_of
from tengen.games.state import FIRST, RESIGN, AnyState

_BARS = " ▁▂▃▄▅▆▇█"
_COMMENTED = 3  # moves that a comment names


@dataclass(frozen=True)
class PositionEstimate:
    """What the best analysis of a position so far says, as the first player sees it."""

    visits: int
    chance: float
    score: float | None
    best: str
    """The name of the move that it would play; empty where the game is over."""
    line: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mistake:
    """A move after which the player who made it stands worse than before."""

    number: int
    """Of the move, 1 being the first."""
    player: int
    played: str
    best: MoveAnalysis
    best_name: str
    before: float
    """The player's chance to win before the move, and after it."""
    after: float
    points: float | None
    """Points that it cost, where the score is estimated; 0 where that estimate sees no loss."""

    @property
    def loss(self) -> float:
        """What it cost of the chance to win."""
        return self.before - self.after


@dataclass
class Review:
    """A game, and what is known of its positions so far."""

    last: AnyState
    analyses: dict[int, Analysis] = field(default_factory=dict)
    """By the number of moves played before."""

    @property
    def states(self) -> list[AnyState]:
        """The positions of the game, the start first; a resignation leads to none."""
        return [state for state in self.last.states() if state.last_move != RESIGN]

    def chances(self) -> list[float | None]:
        """The chance of the player who moves first in the game to win, in each position."""
        found = [(self.analyses.get(number), state) for number, state in enumerate(self.states)]
        return [None if analysis is None else first_chance(state, analysis.chance) for analysis, state in found]

    def point_losses(self) -> list[float]:
        """What each move cost the player who made it, in points, where the positions before and after have a score."""
        losses, states = [], self.states
        for number in range(1, len(states)):
            before, after = self.analyses.get(number - 1), self.analyses.get(number)
            if before is not None and after is not None:
                points = _points_lost(before, after, states[number - 1], states[number])
                losses += [] if points is None else [points]
        return losses

    def mistakes(self) -> list[Mistake]:
        """Moves that lost some of the chance to win, the worst first."""
        states, found = self.states, []
        for number in range(1, len(states)):
            before, after = self.analyses.get(number - 1), self.analyses.get(number)
            state = states[number - 1]
            move = states[number].last_move
            if before is None or after is None or not before.moves or before.moves[0].move == move:
                continue
            sign = 1 if states[number].to_play == state.to_play else -1  # else someone moved out of turn
            left = after.chance if sign > 0 else 1 - after.chance
            points = _points_lost(before, after, state, states[number])
            points = points if points is None else max(0.0, points)
            best, played = before.moves[0], name_of(state, move)
            chance = max(before.chance, best.chance)
            if left < chance:
                name = name_of(state, best.move)
                found.append(Mistake(number, state.to_play, played, best, name, chance, left, points))
        return sorted(found, key=lambda mistake: -mistake.loss)


def review(
    agent: Analyst, last: AnyState, visits: int, positions: int = 64, now: Callable[[], float] = time.monotonic
) -> Iterator[Review]:
    """Analyse every position of the game that led to `last`; yields the same review as it fills."""
    agent.analyse(last)  # AgentError if it is not a game for this agent
    found, search = Review(last), batch_analyser(agent, positions, now)
    waiting, under_way = list(enumerate(found.states))[::-1], 0
    while waiting or under_way:
        while waiting and search.start(waiting[-1][0], AnalysisTask(waiting[-1][1], visits)):
            waiting.pop()
            under_way += 1
        for key, analysis in search.step():
            assert isinstance(key, int)
            found.analyses[key] = analysis
            under_way -= 1
        yield found


def graph(chances: list[float | None], width: int, height: int = 8) -> list[str]:
    """The chances as lines of bars, each column the mean of some of them; what is unknown is left blank."""
    columns: list[float | None] = []
    count = min(width, len(chances))
    for column in range(count):
        part = chances[column * len(chances) // count : (column + 1) * len(chances) // count]
        known = [chance for chance in part if chance is not None]
        columns.append(sum(known) / len(known) if known else None)
    lines = []
    for row in range(height - 1, -1, -1):
        cells = [
            " " if chance is None else _BARS[round(8 * min(1, max(0, chance * height - row)))] for chance in columns
        ]
        label = {height - 1: "100%", height // 2: " 50%", 0: "  0%"}.get(row, "")
        lines.append(f"{label:>4} ┤{''.join(cells)}")
    return lines


def comments(found: Review) -> dict[int, str]:
    """A comment for each position that is known, by the number of its move."""
    states = found.states
    texts = {number: _comment(analysis, states[number]) for number, analysis in found.analyses.items()}
    for mistake in found.mistakes():
        if mistake.loss >= 0.05 and mistake.number in texts:
            cost = "" if mistake.points is None else f", {mistake.points:.1f} points"
            better = f"Better was {mistake.best_name}: {mistake.played} lost {mistake.loss:.1%}{cost}."
            texts[mistake.number] = f"{better}\n{texts[mistake.number]}"
    return texts


def annotated(found: Review, about: Record) -> bytes:
    """The game's file with the comments added to those that it had."""
    joined = dict(about.comments)
    for number, text in comments(found).items():
        joined[number] = "\n".join(filter(None, (joined.get(number, ""), text)))
    record = Record(about.first, about.second, about.event, about.result, about.termination, joined)
    return game_of(found.last).write(found.last, record)


def name_of(state: AnyState, move: int | None) -> str:
    """A move as people write it in the game's records."""
    return "" if move is None else game_of(state).notation(state, move)


def lead(score: float, state: AnyState) -> str:
    """`Black leads by 3.5`, of a score of the player to move."""
    ahead = state.to_play if score >= 0 else 3 - state.to_play
    return f"{game_of(state).players[ahead - 1]} leads by {abs(score):.1f}"


def estimate_of(state: AnyState, analysis: Analysis) -> PositionEstimate:
    """The analysis in short, as the first player sees it."""
    sign = 1 if state.to_play == FIRST else -1
    best = analysis.moves[0] if analysis.moves else None
    return PositionEstimate(
        analysis.visits,
        first_chance(state, analysis.chance),
        None if analysis.score is None else sign * analysis.score,
        "" if best is None else state.move_name(best.move),
        () if best is None else line_names(state, best.pv),
    )


def line_names(state: AnyState, line: tuple[int, ...]) -> tuple[str, ...]:
    """The names of the moves of a line."""
    names = list[str]()
    for move in line:
        names.append(state.move_name(move))
        if state.why_illegal(move) is not None:
            break
        state = state.play(move)
    return tuple(names)


def first_chance(state: AnyState, chance: float) -> float:
    """A chance of the player to move as one of the first player."""
    return chance if state.to_play == FIRST else 1 - chance


def _points_lost(before: Analysis, after: Analysis, state: AnyState, following: AnyState) -> float | None:
    """The points that the move from `state` to `following` cost; None where a score is unknown."""
    if before.score is None or after.score is None:
        return None
    return before.score - (after.score if following.to_play == state.to_play else -after.score)


def _comment(analysis: Analysis, state: AnyState) -> str:
    chance = first_chance(state, analysis.chance)
    first = game_of(state).players[0]
    lines = [f"{first} {chance:.1%}" + ("" if analysis.score is None else f", {lead(analysis.score, state)}")]
    for move in analysis.moves[:_COMMENTED]:
        if move.visits:
            here, names = state, []
            for each in move.pv[:6]:
                names.append(name_of(here, each))
                here = here.play(each)
            lines.append(f"{names[0]} {move.chance:.1%}, {move.visits} visits: {' '.join(names)}")
    return "\n".join(lines)
