"""GTP's commands about time, and the clocks that they set."""

from typing import Literal

from tengen.games.go import BLACK, WHITE
from tengen.serve.clock import Clock, TimeSettings
from tengen.serve.gtp_protocol import GtpError, argument, as_color, as_integer, as_number

Arguments = tuple[str, ...]


class GtpClocks:
    """The clocks of both colours. Each command answers with nothing."""

    def __init__(self) -> None:
        self._settings = TimeSettings()
        self.reset()

    def of(self, color: int) -> Clock:
        """The clock of a colour."""
        return self._clocks[color]

    def reset(self) -> None:
        """Wind both up, for a new game."""
        self._clocks = {BLACK: Clock(self._settings), WHITE: Clock(self._settings)}

    def time_settings(self, arguments: Arguments) -> str:
        main, overtime = (as_number(argument(arguments, i)) for i in (0, 1))
        self._set("canadian", main, overtime, as_integer(argument(arguments, 2)))
        return ""

    def kgs_time_settings(self, arguments: Arguments) -> str:
        system = argument(arguments, 0).lower()
        if system == "none":
            self._set("none")
        elif system == "absolute":
            self._set("canadian", as_number(argument(arguments, 1)))
        elif system in ("canadian", "byoyomi"):
            main, overtime = (as_number(argument(arguments, i)) for i in (1, 2))
            self._set(system, main, overtime, as_integer(argument(arguments, 3)))
        else:
            raise GtpError("syntax error")
        return ""

    def time_left(self, arguments: Arguments) -> str:
        color = as_color(argument(arguments, 0))
        seconds, stones = as_number(argument(arguments, 1)), as_integer(argument(arguments, 2))
        if stones < 0:
            raise GtpError("syntax error")
        self._clocks[color].report(seconds, stones)
        return ""

    def _set(self, system: str, main: float = 0.0, overtime: float = 0.0, stones: int = 0) -> None:
        if min(main, overtime, stones) < 0:
            raise GtpError("syntax error")
        # GTP: a period for no stones is no clock. No time at all is what some programs say for the same.
        endless = stones == 0 if overtime > 0 else main == 0
        kind: Literal["none", "canadian", "byoyomi"] = (
            "none" if endless else "byoyomi" if system == "byoyomi" else "canadian"
        )
        self._settings = TimeSettings(kind, main, overtime, stones)
        self.reset()
