"""Microchess in the terminal, played by scripts: commands, looks, a whole game, files."""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from rich.console import Console

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.agents.registry import load_agent
from tengen.games import microchess
from tengen.games.microchess import BLACK, RESIGN, WHITE, from_pgn
from tengen.games.state import AnyState
from tengen.serve.microchess_session import MicrochessSession, board_width, draw_board
from tengen.serve.session import Look


class Scripted:
    """A bot that plays what it is told, and gives up when it has been told no more."""

    name = "scripted"

    def __init__(self, *moves: str, value: float | None = None) -> None:
        self._moves, self._value = list(moves), value

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        assert isinstance(state, microchess.State)
        move = state.parse_move(self._moves.pop(0)) if self._moves else RESIGN
        return Decision(move, self._value, visits={move: 10}, note="by the book")

    def close(self) -> None:
        """Nothing to free."""


class Broken(Scripted):
    """A bot that fails."""

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        raise AgentError("the engine has gone away")


class Table:
    """A game with its typed lines and its screen."""

    def __init__(
        self,
        lines: Iterable[str],
        agents: Mapping[int, Agent] | None = None,
        state: microchess.State | None = None,
        keep_in: Path | None = None,
        **console: object,
    ) -> None:
        self._lines, self.prompts = iter(lines), list[str]()
        self._file = io.StringIO()
        self.console = Console(**{"file": self._file, "width": 100, "height": 24, **console})  # type: ignore[arg-type]
        state = microchess.State.new() if state is None else state
        self.game = MicrochessSession(state, agents or {}, console=self.console, ask=self._ask, keep_in=keep_in)
        self.game.run()

    def _ask(self, prompt: str) -> str:
        self.prompts.append(prompt)
        for line in self._lines:
            return line
        raise EOFError

    @property
    def screen(self) -> str:
        """All that was shown."""
        return self._file.getvalue()

    @property
    def moves(self) -> list[str]:
        return [self.game.state.move_name(move) for _, move in self.game.state.moves]


def test_moves_typed_either_way_and_the_bots_answers() -> None:
    table = Table(["d2d4", "Na2"], {BLACK: Scripted("a4a3", "d5d4", value=0.7)})
    assert table.moves == ["d2d4", "a4a3", "c1a2", "d5d4"]
    assert table.prompts == ["White > "] * 3
    assert "Black plays a4a3." in table.screen
    assert "White's chance: 30%" in table.screen
    assert "Move 4: Black Rxd4+" in table.screen
    assert "White to play, in check" in table.screen
    assert "by the book" in table.screen


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("d2d1", "d2d1 is not legal"),
        ("Qa1", "Qa1"),
        ("zz", "'zz' is not a move"),
        ("\x1b[2J", "is not a move"),
        ("new 9", "new takes nothing behind it"),
        ("load", "which file? Try  load game.pgn"),
        ("load /nowhere/at.pgn", "/nowhere/at.pgn: No such file or directory"),
        ("hint", "nobody is here to give a hint"),
        ("undo now", "Took back 1 move."),
    ],
)
def test_every_line_is_answered_and_play_goes_on(line: str, answer: str) -> None:
    table = Table(["a1a2", "d5d4", line, "undo" if line != "undo now" else "moves"])
    assert answer in table.screen
    assert table.moves == ["a1a2"]
    assert "\x1b" not in table.screen


def test_the_legal_moves_are_listed() -> None:
    screen = " ".join(Table(["moves"]).screen.split())
    assert "Legal moves: a1a2 a1a3 a1a4 b1a2 b1c2 b1d3 c1a2 c1b3 c1d3 d1c2 d2d3 d2d4." in screen


def test_help_shows_every_command() -> None:
    screen = Table(["help"]).screen
    commands = ("d2d4", "d4d5q", "moves", "undo", "hint", "resign", "save FILE", "load FILE", "new", "quit")
    assert all(word in screen for word in commands)
    assert all(text in screen for text in ("or d5=Q: become a queen", "which are legal?", "write a .pgn file"))


def test_a_hint_marks_where_it_leads() -> None:
    table = Table(["hint"], {BLACK: Scripted("c1b3")})
    assert "scripted would play: c1b3." in table.screen
    assert "(♘)" in table.screen and "(·)" in table.screen


@pytest.mark.parametrize(
    ("lines", "fen", "told"),
    [
        (["Qb4"], "k3/2Q1/1K2/4/4 w - - 0 1", "White wins (1-0): checkmate."),
        (["resign"], None, "Black wins (0-1): resignation."),
        (["Qb4", "Kxb4"], "2k1/4/1Q2/4/3K w - - 0 1", "A draw (1/2-1/2): insufficient material."),
    ],
)
def test_how_a_game_ends_is_told(lines: list[str], fen: str | None, told: str) -> None:
    table = Table(lines, state=None if fen is None else microchess.State.from_fen(fen))
    assert told in table.screen
    assert "The game is over" in table.screen
    assert table.prompts[-1] == "save FILE, undo, new or quit > "


def test_two_bots_play_to_the_end_while_we_watch() -> None:
    bots = {WHITE: load_agent("random:seed=1"), BLACK: load_agent("random:seed=2")}
    table = Table([], bots, microchess.State.new(rules="ncsoft"))
    assert table.game.state.is_over
    assert "Microchess, ncsoft rules" in table.screen


def test_a_bot_that_fails_or_cheats_does_not_end_the_session() -> None:
    assert "scripted failed: the engine has gone away" in Table(["a1a2", "undo"], {BLACK: Broken()}).screen
    assert "scripted failed: a5d1 is not legal" in Table(["a1a2", "undo"], {BLACK: Scripted("a5d1")}).screen


def test_save_load_and_what_is_kept(tmp_path: Path) -> None:
    file, last = tmp_path / "a game.pgn", tmp_path / "last.pgn"
    Table(["d2d4", "a4a3", f"save {file}"], keep_in=last)
    assert not last.exists()
    loaded = Table([f"load {file}", "Kc2"], keep_in=last, width=200)
    assert f"Loaded {file}, 2 moves." in loaded.screen
    assert loaded.moves == ["d2d4", "a4a3", "d1c2"]
    assert f"The game is kept: tengen play --load {last}" in loaded.screen
    assert from_pgn(last.read_text())[0].moves == loaded.game.state.moves
    file.write_text("1. Qh5 Ke7")
    assert f"{file}: " in Table([f"load {file}"], width=300).screen


def test_a_new_game_keeps_the_terms() -> None:
    state = Table(["a1a2", "new"], state=microchess.State.new("ncsoft", double_step=False)).game.state
    assert (state.move_number, state.rules, state.double_step) == (0, "ncsoft", False)


# ------------------------------------------------------------------------------------------------ looks


def test_the_plain_board_in_both_directions() -> None:
    state = microchess.State.new()
    assert draw_board(state, Look(color=False)).plain.splitlines() == [
        "   a  b  c  d   ",
        " 5 ♚  ♞  ♝  ♜ 5 ",
        " 4 ♟  ·  ·  · 4 ",
        " 3 ·  ·  ·  · 3 ",
        " 2 ·  ·  ·  ♙ 2 ",
        " 1 ♖  ♗  ♘  ♔ 1 ",
        "   a  b  c  d   ",
    ]
    turned = draw_board(state, Look(unicode=False, color=False), marked=(3, 16), turned=True)
    assert turned.plain.splitlines()[1:6] == [
        " 1(K) N  B  R 1 ",
        " 2 P  .  .  . 2 ",
        " 3 .  .  .  . 3 ",
        " 4 .  .  .  p 4 ",
        " 5 r  b  n (k)5 ",
    ]


@pytest.mark.parametrize("look", [Look(), Look(color=False), Look(unicode=False, color=False)])
def test_every_line_is_as_wide_as_it_says(look: Look) -> None:
    lines = draw_board(microchess.State.new(), look, marked=(0, 7)).plain.splitlines()
    assert {len(line) for line in lines} == {board_width(look)}
    assert len(lines) == (17 if look.color else 7)


def test_a_person_with_black_sees_the_board_from_there() -> None:
    assert "   d  c  b  a   " in Table([], {WHITE: Scripted("a1a2")}).screen
    assert "   a  b  c  d   " in Table([]).screen


@pytest.mark.parametrize("width", [20, 40, 60, 120])
def test_every_width_shows_the_board_and_the_turn(width: int) -> None:
    screen = Table(["a1a2"], width=width).screen
    assert "Black to play" in screen
    assert "♚" in screen


def test_a_terminal_with_colours_gets_them() -> None:
    table = Table(["a1a2"], force_terminal=True, color_system="truecolor", legacy_windows=False)
    assert "\x1b[" in table.screen and "♚" in table.screen
