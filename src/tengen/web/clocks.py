"""Clocks for people: main time, then periods of byo-yomi; or main time with an increment for every move (Fischer).

In byo-yomi a period that is not used up begins anew with the next move. Who has used up the main time and all periods
has lost. Clocks run on the server, and only while a page has the game open.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tengen.web.inputs import field

_MOST_SECONDS: Final = 36_000.0
_MOST_PERIODS: Final = 100


@dataclass(frozen=True)
class TimeControl:
    """How much time each person has. All but the number of periods in seconds."""

    main: float
    periods: int = 0
    """Of byo-yomi, after the main time."""
    period: float = 0.0
    """How long each of them is."""
    increment: float = 0.0
    """What is added after every move."""

    def __post_init__(self) -> None:
        seconds = (self.main, self.period, self.increment)
        if not all(0 <= one <= _MOST_SECONDS for one in seconds) or not 0 <= self.periods <= _MOST_PERIODS:
            raise ValueError(f"a clock has up to {_MOST_SECONDS:g} seconds and {_MOST_PERIODS} periods")
        if self.main + self.periods * self.period < 1:
            raise ValueError("a clock with no time is lost at once: give a second or more")

    @classmethod
    def of(cls, given: Any) -> "TimeControl | None":
        """What a page or a file gives; None: no clock."""
        if given is None:
            return None
        if not isinstance(given, dict):
            raise ValueError("a clock is an object: main, periods, period, increment")
        main, period, increment = (field(given, name, float) for name in ("main", "period", "increment"))
        return cls(main, field(given, "periods", int), period, increment)


class GameClock:
    """The clocks of both players; at most one of them runs."""

    def __init__(self, control: TimeControl, now: Callable[[], float] = time.monotonic) -> None:
        self.control = control
        self.main = [control.main, control.main]
        """Main time left for each player at the beginning of the turn."""
        self.periods = [control.periods, control.periods]
        self.lost = 0
        """The player who has lost on time; 0: nobody."""
        self._player = 0  # whose turn is timed
        self._used = 0.0  # in this turn, until the clock was last halted
        self._began: float | None = None
        self._now = now

    def run(self, player: int) -> None:
        """Let the clock of a player run, from the beginning of the turn or from where it was halted."""
        if player != self._player:
            self.begin_turn()
            self._player = player
        if self._began is None:
            self._began = self._now()

    def halt(self) -> None:
        """Let no clock run."""
        self._used, self._began = self.used, None

    def begin_turn(self) -> None:
        """Forget the time of the turn under way."""
        self._player, self._used, self._began = 0, 0.0, None

    def press(self) -> None:
        """The player has moved: take the time off, and add what a move brings."""
        if self._player:
            side, over = self._player - 1, self.used - self.main[self._player - 1]
            self.main[side] = max(0.0, -over) + self.control.increment
            if over > 0 and self.control.period:
                self.periods[side] -= int(over / self.control.period)
        self.begin_turn()

    def flag(self) -> None:
        """The player has lost on time."""
        self.lost = self._player
        self.halt()

    @property
    def used(self) -> float:
        """Seconds of the turn under way."""
        return self._used + (0.0 if self._began is None else self._now() - self._began)

    @property
    def left(self) -> float:
        """Seconds until the player whose turn it is has lost."""
        side = self._player - 1
        return self.main[side] + self.periods[side] * self.control.period - self.used

    def to_json(self) -> dict[str, Any]:
        """For pages and files."""
        control = self.control
        return {
            "main": control.main,
            "periods": control.periods,
            "period": control.period,
            "increment": control.increment,
            "left": [[round(main, 3), periods] for main, periods in zip(self.main, self.periods)],
            "player": self._player,
            "used": round(self.used, 3),
            "running": self._began is not None,
            "lost": self.lost,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "GameClock":
        """A clock as a file keeps it, halted; KeyError, TypeError or ValueError if it is none."""
        control = TimeControl.of(dict(fields))
        if control is None:
            raise ValueError("this is no clock")
        clock = cls(control)
        clock.main = [float(main) for main, _ in fields["left"]]
        clock.periods = [int(periods) for _, periods in fields["left"]]
        clock._player, clock._used, clock.lost = int(fields["player"]), float(fields["used"]), int(fields["lost"])
        return clock
