"""How long to think: a player's clock, and the share of it that one move may take.

Three systems, with the names that KGS gives them: absolute (main time only), Canadian overtime (so many
stones in each period, which is GTP's own), and Japanese byo-yomi (a move in each period, periods are lost
one by one). The controller's `time_left` is believed; between such reports the clock counts for itself.
"""

from dataclasses import dataclass
from typing import Final, Literal

_FEWEST_MOVES: Final = 12
_LAG: Final = 0.5
_SHORTEST: Final = 0.01


@dataclass(frozen=True)
class TimeSettings:
    """What both players begin with: main time, then `stones` in each period of `overtime` seconds, or, for
    byo-yomi, so many periods."""

    system: Literal["none", "canadian", "byoyomi"] = "none"
    main: float = 0.0
    overtime: float = 0.0
    stones: int = 0

    @property
    def seconds_per_move(self) -> float:
        """What overtime grants each move for ever."""
        if self.overtime <= 0 or self.stones <= 0:
            return 0.0
        return self.overtime if self.system == "byoyomi" else self.overtime / self.stones


class Clock:
    """One player's clock."""

    def __init__(self, settings: TimeSettings) -> None:
        self.settings = settings
        self.seconds = settings.main
        self.stones = 0
        """Stones to play in this period, or periods left; 0 is main time."""
        if settings.main <= 0:
            self._enter_overtime(0.0)

    def report(self, seconds: float, stones: int) -> None:
        """Believe the controller: so many seconds, for so many stones (0: of main time)."""
        self.seconds, self.stones = seconds, stones

    def spend(self, seconds: float) -> None:
        """A move has been played that took so long."""
        if self.settings.system == "none":
            return
        self.seconds -= seconds
        if self.stones == 0:
            if self.seconds < 0:
                self._enter_overtime(-self.seconds)
        elif self.settings.system == "byoyomi":
            self.stones = max(1, self.stones - (self.seconds < 0))
            self.seconds = self.settings.overtime
        else:
            self.stones -= 1
            if self.stones == 0:
                self._enter_overtime(0.0)

    def budget(self, empty_points: int) -> float | None:
        """Seconds for the next move on a board with so many empty points; None without a clock."""
        settings = self.settings
        if settings.system == "none":
            return None
        if self.stones == 0:
            moves_to_go = max(_FEWEST_MOVES, 0.4 * empty_points)
            share = max(self.seconds / moves_to_go, settings.seconds_per_move)
        elif settings.system == "byoyomi":
            share = self.seconds
        else:
            share = self.seconds / self.stones
        return max(_SHORTEST, share - min(_LAG, 0.1 * share))

    def _enter_overtime(self, already_used: float) -> None:
        if self.settings.seconds_per_move > 0:
            self.seconds = self.settings.overtime - already_used
            self.stones = self.settings.stones
        else:
            self.seconds = 0.0
