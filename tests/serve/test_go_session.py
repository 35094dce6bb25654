"""The terminal game, played by scripts: every command, every look, whole games to their end."""

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from rich.console import Console

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.agents.random import RandomAgent, RandomSettings
from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE, from_gtp, to_gtp
from tengen.games.go.sgf import read_sgf
from tengen.search.life_and_death import describe_count, estimate
from tengen.serve.go_session import GoSession


class Scripted:
    """A bot that plays what it is told, and passes when it has been told no more."""

    name = "scripted"

    def __init__(self, *moves: str, value: float | None = None) -> None:
        self._moves, self._value = list(moves), value
        self.closed = False

    def choose(self, state: go.State, seconds: float | None = None) -> Decision:
        move = from_gtp(self._moves.pop(0), state.size) if self._moves else PASS
        return Decision(move, self._value, note="by the book")

    def close(self) -> None:
        self.closed = True


class Broken(Scripted):
    """A bot that fails the first time."""

    name = "broken"
    failures = 1

    def choose(self, state: go.State, seconds: float | None = None) -> Decision:
        if self.failures:
            self.failures -= 1
            raise AgentError("the engine has gone away")
        return super().choose(state)


class Table:
    """A game with its typed lines and its screen."""

    def __init__(
        self,
        lines: Iterable[str],
        agents: Mapping[int, Agent] | None = None,
        state: go.State | None = None,
        adviser: Callable[[], Agent] | None = None,
        keep_in: Path | None = None,
        **console: object,
    ) -> None:
        self._lines, self.prompts = iter(lines), list[str]()
        self._file = io.StringIO()
        self.console = Console(**{"file": self._file, "width": 80, "height": 24, **console})  # type: ignore[arg-type]
        state = go.State.new(9) if state is None else state
        self.game = GoSession(
            state, agents or {}, console=self.console, ask=self._ask, adviser=adviser, keep_in=keep_in
        )
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
        return [to_gtp(move, self.game.state.size) for _, move in self.game.state.moves]


# ---------------------------------------------------------------------------------------------- playing


def test_moves_in_either_case_and_the_bots_answers() -> None:
    table = Table(["e5", " C3 "], {WHITE: Scripted("E6", "pass")})
    assert table.moves == ["E5", "E6", "C3", "pass"]
    assert "White plays E6." in table.screen
    assert "White passes." in table.screen


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("e5", "E5 is not legal: there is a stone already"),
        ("z99", "Z99 is outside the 9x9 board"),
        ("i5", "'i5' is not a point"),
        ("castle", "'castle' is not a point"),
        ("\x1b[2J", "is not a point"),
        ("load", "which file?"),
        ("load /nowhere/at.sgf", "/nowhere/at.sgf: No such file or directory"),
        ("load .", ".: Is a directory"),
        ("save /nowhere/at.sgf", "/nowhere/at.sgf: No such file or directory"),
        ("new 99", "board size 99 is not possible"),
        ("new big", "new takes a board size"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line_and_play_goes_on(line: str, answer: str) -> None:
    table = Table(["e5", line, "d4"])
    assert any(shown.lower().startswith(answer.lower()) or answer in shown for shown in table.screen.splitlines())
    assert table.moves == ["E5", "D4"]
    assert "\x1b" not in table.screen


def test_an_empty_line_does_nothing() -> None:
    assert Table(["", "   ", "e5"]).moves == ["E5"]


def test_a_whole_game_against_the_random_bot() -> None:
    bot = RandomAgent(RandomSettings(seed=1))
    me = RandomAgent(RandomSettings(seed=2))

    class Lines:
        """Types what another random player would play."""

        table: GoSession

        def __call__(self, prompt: str) -> str:
            if self.table.state.is_over:
                raise EOFError
            return to_gtp(me.choose(self.table.state).move, 5)

    ask = Lines()
    screen = io.StringIO()
    game = GoSession(go.State.new(5), {WHITE: bot}, console=Console(file=screen, width=80), ask=ask)
    ask.table = game
    game.run()
    assert game.state.is_over
    assert f"wins by {abs(game.state.score()):g} ({game.state.result()})" in screen.getvalue()
    assert "The game is over" in screen.getvalue()


def test_simple_go_to_its_end_and_its_forbidden_pass() -> None:
    first = Table(["pass", "c3"], state=go.State.new(rules="simple-go"))
    assert "pass is not legal: simple-go allows a pass only when there is no other move" in first.screen
    assert first.moves == ["C3"]
    bots = {BLACK: RandomAgent(RandomSettings(seed=1)), WHITE: RandomAgent(RandomSettings(seed=2))}
    watched = Table([], bots, go.State.new(rules="simple-go"))
    assert watched.game.state.is_over
    assert "no dead stones" in watched.screen


def test_watching_two_bots_asks_nothing_until_the_end() -> None:
    table = Table(["quit"], {BLACK: Scripted("E5"), WHITE: Scripted("C3")})
    assert table.moves == ["E5", "C3", "pass", "pass"]
    assert table.prompts == ["save FILE, undo, new or quit > "]


def test_handicap_white_begins() -> None:
    table = Table([], {WHITE: Scripted("E5")}, go.State.new(9, handicap=2))
    assert table.moves == ["E5"]
    assert "2 handicap stones" in table.screen
    assert table.prompts == ["Black > "]


def test_resigning() -> None:
    table = Table(["e5", "resign", "d4"], {WHITE: Scripted("C3")})
    assert "Black resigns: White wins." in table.screen
    assert "the game is over (W+R)" in table.screen
    assert table.game.state.result() == "W+R"


def test_a_bot_may_resign() -> None:
    assert "White resigns: Black wins." in Table(["e5"], {WHITE: Scripted("resign")}).screen


def test_a_game_that_ends_is_counted_and_its_dead_stones_are_marked() -> None:
    wall = [row * 5 + col for row in range(5) for col in (1, 3)]
    state = go.State.setup(5, "japanese", 0.5, black=wall, white=[12])
    table = Table(["pass", "pass"], state=state)
    assert "Black 15 + 1 prisoners, White 0 + 0 prisoners + 0.5 komi; dead: 1 white." in " ".join(table.screen.split())
    assert "¤" in table.screen


def test_a_failing_bot_can_be_asked_again() -> None:
    table = Table(["e5", "d4", "", "quit"], {WHITE: Broken("C3")})
    assert "broken failed: the engine has gone away" in table.screen
    assert table.moves == ["E5", "C3"]


def test_a_bot_that_cheats_does_not_end_the_session() -> None:
    table = Table(["e5", "undo", "quit"], {WHITE: Scripted("E5")})
    assert "scripted failed: E5 is not legal" in table.screen
    assert table.moves == []


# --------------------------------------------------------------------------------------------- commands


def test_undo_takes_back_the_bots_move_too() -> None:
    table = Table(["e5", "c3", "undo"], {WHITE: Scripted("E6", "D4")})
    assert table.moves == ["E5", "E6"]
    assert "Took back 2 moves." in table.screen


def test_undo_between_two_people_takes_back_one_move() -> None:
    assert Table(["e5", "c3", "undo"]).moves == ["E5"]


def test_undo_leaves_the_bots_first_move_alone() -> None:
    table = Table(["undo"], {BLACK: Scripted("E5")})
    assert table.moves == ["E5"]
    assert "there is no move of yours to take back" in table.screen


def test_undo_reopens_a_game_that_is_over() -> None:
    assert Table(["e5", "resign", "undo", "d4"], {WHITE: Scripted("C3", "F6")}).moves == [
        "E5",
        "C3",
        "D4",
        "F6",
    ]


def test_hint_marks_and_names_the_best_moves() -> None:
    class Adviser(Scripted):
        name = "adviser"

        def choose(self, state: go.State, seconds: float | None = None) -> Decision:
            e5, c3, d4 = (from_gtp(point, 9) for point in ("E5", "C3", "D4"))
            return Decision(e5, 0.6, visits={c3: 10, e5: 50, d4: 5, PASS: 1}, values={e5: 0.6, c3: 0.4})

    adviser = Adviser()
    table = Table(["hint"], adviser=lambda: adviser)
    assert "adviser would play: 1. E5 (60%), 2. C3 (40%), 3. D4." in table.screen
    assert " 5 · · · · 1 · · · · 5" in table.screen
    assert adviser.closed
    assert table.moves == []


class Sure(Scripted):
    """A bot that knows how good two moves and a pass are."""

    def choose(self, state: go.State, seconds: float | None = None) -> Decision:
        moves = {from_gtp("D4", state.size): 0.534, from_gtp("E5", state.size): 1.0, PASS: 0.07}
        return Decision(from_gtp("E5", state.size), 1.0, values=moves)


def test_chances_of_moves_are_written_on_the_board() -> None:
    screen = Table(["chances"], {WHITE: Sure()}).screen
    assert "scripted gives: E5 (100%), D4 (53%), pass (7%)." in screen
    assert "    A  B  C  D  E  F  G  H  J    " in screen
    assert " 5  ·  ·  ·  · 99  ·  ·  ·  ·  5" in screen and " 4  ·  ·  · 53  ·  ·  ·  ·  ·  4" in screen
    assert "scripted does not give the chances of moves" in Table(["chances"], {WHITE: Scripted("E5")}).screen


def test_hint_from_the_opponent_or_from_nobody() -> None:
    assert "scripted would play: E5." in Table(["hint"], {WHITE: Scripted("E5")}).screen
    assert "nobody is here to give a hint" in Table(["hint"]).screen


def test_score_marks_what_is_whose() -> None:
    wall = [row * 5 + col for row in range(5) for col in (1, 3)]
    table = Table(["score"], state=go.State.setup(5, "chinese", 0.5, black=wall))
    assert "An estimate: Black is ahead by about 24.5." in table.screen
    assert " 5 ▪ ● ▪ ● ▪ 5" in table.screen


def test_help_shows_every_command() -> None:
    screen = Table(["help"]).screen
    assert all(word in screen for word in ("take your move back", "write a .sgf file", "leave, game kept"))


def test_the_bots_estimate_is_shown_as_blacks() -> None:
    screen = Table(["e5"], {WHITE: Scripted("C3", value=0.7)}).screen
    assert "30% Black" in screen
    assert "by the book" in screen


def test_new_keeps_the_terms_of_the_game() -> None:
    table = Table(["e5", "new", "c3"], state=go.State.new(9, "japanese", 5.5))
    assert (table.moves, table.game.state.komi, table.game.state.rules.name) == (["C3"], 5.5, "japanese")
    assert Table(["new 13"], state=go.State.new(9, handicap=3)).game.state.handicap == 3


# ------------------------------------------------------------------------------------------------ files


def test_save_and_load(tmp_path: Path) -> None:
    file = tmp_path / "a game.sgf"
    saved = Table(["e5", "c3", f"save {file}", "d4", f"save {file}"])
    assert f"Saved in {file}." in " ".join(saved.screen.split())
    loaded = Table([f"load {file}", "f6"])
    assert loaded.moves == ["E5", "C3", "D4", "F6"]
    assert loaded.game.state.rules.name == "chinese"


def test_a_file_of_somebody_elses_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "precious.txt"
    file.write_text("precious")
    table = Table(["e5", f"save {file}"], width=200)
    assert "is there already: write over it with  save! " in table.screen
    assert file.read_text() == "precious"
    Table(["e5", f"save! {file}"])
    assert read_sgf(file.read_bytes()).state.move_number == 1


def test_save_without_a_name_finds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Table(["e5", "save", "save"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["game-2.sgf", "game.sgf"]


def test_a_broken_file_is_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "x.sgf"
    file.write_bytes(b"(;SZ[9];B[aa];W[aa])")
    table = Table(["e5", f"load {file}"], width=200)
    assert f"{file}: move 2 (White A9): there is a stone already" in table.screen
    assert table.moves == ["E5"]


@pytest.mark.parametrize("leaving", [EOFError, KeyboardInterrupt])
def test_a_game_that_is_left_is_kept(tmp_path: Path, leaving: type[BaseException]) -> None:
    file, lines = tmp_path / "folder" / "last.sgf", iter(["e5"])

    def ask(prompt: str) -> str:
        for line in lines:
            return line
        raise leaving

    screen = io.StringIO()
    GoSession(go.State.new(9), {}, console=Console(file=screen), ask=ask, keep_in=file).run()
    assert f"The game is kept: tengen play --load {file}" in screen.getvalue()
    assert read_sgf(file.read_bytes()).state.move_number == 1


def test_nothing_is_kept_that_is_saved_or_has_no_move(tmp_path: Path) -> None:
    last = tmp_path / "last.sgf"
    Table(["e5", f"save {tmp_path / 'mine.sgf'}"], keep_in=last)
    Table(["undo", "quit"], keep_in=last)
    assert not last.exists()


def test_each_game_of_a_session_is_kept(tmp_path: Path) -> None:
    Table(["e5", "new", "c3", "d4"], keep_in=tmp_path / "last.sgf")
    assert read_sgf((tmp_path / "last.sgf").read_bytes()).state.move_number == 1
    assert read_sgf((tmp_path / "last-2.sgf").read_bytes()).state.move_number == 2


def test_a_game_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    table = Table(["e5"], keep_in=tmp_path / "file" / "last.sgf", width=300)
    assert "could not be kept" in table.screen


# ---------------------------------------------------------------------------------------------- looks


def test_the_board_without_colours() -> None:
    screen = Table(["e5", "c3"]).screen
    assert " 5 · · · · ● · · · · 5" in screen
    assert " 3 · ·(○)· · · + · · 3" in screen
    assert "   A B C D E F G H J" in screen


def test_the_board_in_ascii() -> None:
    class Ascii(io.StringIO):
        encoding = "ascii"

    screen = Ascii()
    lines = iter(["e5", "c3", "score", "hint"])
    console = Console(file=screen, width=80)
    GoSession(go.State.new(9), {}, console=console, ask=lambda _: next(lines, "quit")).run()
    assert " 5 . . . . X . . . . 5" in screen.getvalue()
    assert " 3 . .(O). . . + . . 3" in screen.getvalue()
    assert screen.getvalue().isascii()


@pytest.mark.parametrize("colors", ["256", "truecolor"])
def test_the_board_in_colour(colors: str) -> None:
    table = Table(["e5", "c3", "quit"], color_system=colors, force_terminal=True, no_color=False, legacy_windows=False)
    assert "◉" in table.screen
    assert "┌" in table.screen
    assert "\x1b[" in table.screen


def test_sixteen_colours_are_too_few_for_wood() -> None:
    table = Table(["e5", "c3"], color_system="standard", force_terminal=True, legacy_windows=False)
    assert "○" in table.screen


@pytest.mark.parametrize("size", [9, 19])
def test_it_fits_a_terminal_of_80_by_24(size: int) -> None:
    bots = {BLACK: RandomAgent(RandomSettings(seed=1)), WHITE: RandomAgent(RandomSettings(seed=2))}
    table = Table(["hint", "quit"], {WHITE: bots[WHITE]}, go.State.new(size, handicap=4))
    last_screen = table.screen.rsplit("   A B C", 2)[-2:]
    lines = ("   A B C" + "   A B C".join(last_screen)).splitlines()
    assert len(lines) + 1 <= 24
    assert max(map(len, lines)) <= 80


def test_a_narrow_terminal_puts_the_facts_below() -> None:
    screen = Table(["e5", "help"], {WHITE: Scripted("C3", value=0.5)}, width=40).screen
    text = " ".join(screen.split())
    assert "Black: you (captured 0), White: scripted (captured 0). Black 50%." in text
    assert "9x9, chinese rules, komi 7.5 Move 2: White C3" in text
    assert "take your move back" in screen
    assert max(map(len, screen.splitlines())) <= 40


def test_names_cannot_take_over_the_terminal() -> None:
    bot = Scripted("C3")
    bot.name = "evil\x1b[2J[bold]"
    assert "\x1b" not in (screen := Table(["e5"], {WHITE: bot}).screen)
    assert "[bold]" in screen


# -------------------------------------------------------------------------------------------- estimates


def test_an_empty_board_is_ahead_for_white_by_its_komi() -> None:
    guess = estimate(go.State.new(9, komi=30))
    assert -40 < guess.margin < -20
    assert not guess.dead


def test_the_count_adds_up_to_the_score() -> None:
    state = go.State.new(9, handicap=2, komi=0.5).play(from_gtp("E5", 9)).play(PASS).play(PASS)
    assert describe_count(state, frozenset()) == "Black 2, White 1 + 0.5 komi + 2 for handicap; no dead stones."
    assert state.score(()) == 2 - 1 - 0.5 - 2
