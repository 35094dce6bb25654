"""Endgame tables: values that follow from the rules, on disk and in play."""

from pathlib import Path

import numpy as np
import pytest

from tengen.games import microchess
from tengen.games.microchess import RESIGN
from tengen.solve.endgame_build import build_tables
from tengen.solve.endgame_index import Material, all_materials, look_up
from tengen.solve.endgame_tables import (
    UNKNOWN,
    TableError,
    TableFile,
    Tables,
    TableValue,
    check_table,
    check_tables,
    evaluate_games,
    longest_mate,
    mistakes,
    open_table,
    position_fen,
    table_path,
    write_table,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables of up to four pieces with the double step, and of three without it; the long tests make the others."""
    folder = tmp_path_factory.mktemp("tables")
    build_tables(folder, 4, double_step=True, workers=1)
    build_tables(folder, 3, double_step=False, workers=1)
    return folder


@pytest.fixture(scope="module")
def tables(folder: Path) -> Tables:
    return Tables.open(folder)


def state(fen: str, **rules: object) -> microchess.State:
    return microchess.State.from_fen(fen, **rules)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- the values


@pytest.mark.parametrize(("pieces", "double_step"), [(4, True), (3, False)], ids=["double step", "single step"])
def test_every_value_follows_from_those_one_move_on(folder: Path, pieces: int, double_step: bool) -> None:
    """By the rules of the game, which share no code with the solver: this proves the tables right."""
    checked = list(check_tables(folder, pieces, double_step, workers=1))
    assert [one.material for one in checked] == all_materials(pieces)
    assert [one.fault for one in checked if one.faults] == []


def test_the_check_finds_a_single_wrong_value(folder: Path) -> None:
    material = Material.parse("KRKP")
    values = open_table(folder, material, True).values().copy()
    values[np.flatnonzero(values == 4)[7]] = 6

    def load(wanted: Material) -> np.ndarray:
        return values if wanted == material else open_table(folder, wanted, True).values()

    found = check_table(material, True, load)
    assert found.faults >= 1
    assert "follows from its moves" in found.fault


@pytest.mark.parametrize("name", ["KK", "KNK", "KBK"])
def test_dead_material_is_always_drawn(tables: Tables, name: str) -> None:
    facts = tables.file(Material.parse(name)).facts
    assert (facts.wins, facts.losses, facts.longest) == (0, 0, 0)


@pytest.mark.parametrize(
    ("fen", "value"),
    [
        ("k3/4/1K2/4/3R w", TableValue(1, 1)),
        ("k2R/4/1K2/4/4 b", TableValue(-1, 0)),  # mated
        ("k3/2Q1/1K2/4/4 b", TableValue(0, None)),  # stalemate
        ("k3/4/4/4/3K w", TableValue(0, None)),
        ("1k2/1P2/1K2/4/4 b", TableValue(0, None)),
    ],
)
def test_positions_that_anyone_can_judge(tables: Tables, fen: str, value: TableValue) -> None:
    assert tables.probe(state(fen)) == value


def test_colours_do_not_matter(tables: Tables) -> None:
    assert tables.probe(state("r3/4/2k1/4/3K b")) == tables.probe(state("k3/4/1K2/4/3R w"))


def test_the_double_step_matters(folder: Path) -> None:
    """Somewhere a pawn on its first square wins only because it may take two steps."""
    with_it, without = (open_table(folder, Material.parse("KPK"), rule).values() for rule in (True, False))
    index = int(np.flatnonzero((with_it != 0) & (without == 0))[0])
    fen = position_fen(Material.parse("KPK"), index)
    assert Tables.open(folder).probe(state(fen)) != TableValue(0, None)
    assert Tables.open(folder, double_step=False).probe(state(fen, double_step=False)) == TableValue(0, None)


def test_castling_rights_count(tables: Tables) -> None:
    """Castling wins here; without it the pawn gets through to a draw."""
    assert tables.probe(state("4/4/pk2/4/R2K w Q")) == TableValue(1, 21)
    assert tables.probe(state("4/4/pk2/4/R2K w -")) == TableValue(0, None)
    assert tables.probe(state("k2r/4/2KP/4/4 b k")) == TableValue(1, 21)
    assert tables.probe(state("k2r/4/2KP/4/4 b -")) == TableValue(0, None)


@pytest.mark.parametrize("name", ["KRK", "KBNK", "KQKR", "KRKB", "KRKP", "KPKP", "KRKN-Q"])
def test_best_play_mates_when_the_table_says(tables: Tables, name: str) -> None:
    material = Material.parse(name)
    now = state(longest_mate(material, tables.file(material).values()))
    value = tables.probe(now)
    assert value is not None and value.dtm == tables.file(material).facts.longest
    for plies in reversed(range(value.dtm)):
        move = tables.best_move(now)
        assert move is not None
        now = now.play(move)
        assert tables.probe(now) is not None
        assert tables.probe(now).dtm == plies  # type: ignore[union-attr]
    assert now.end_reason == "checkmate"


# ---------------------------------------------------------------------------------------------- probing


def test_many_positions_at_once_are_as_one_by_one_and_as_in_memory(tables: Tables) -> None:
    rng = np.random.default_rng(4)
    squares = np.zeros((3000, 20), np.int8)
    for row in squares:
        row[rng.permutation(20)[:4]] = 6, 12, rng.integers(2, 6), rng.integers(8, 12)
    to_play = rng.integers(1, 3, len(squares)).astype(np.int8)
    wdl, dtm = tables.probe_many(squares, to_play)
    memory = tables.load()
    work = np.zeros((2, 3), np.int64)
    for i, row in enumerate(squares):
        alone = tables.probe_many(row[None], to_play[i])
        assert (alone[0][0], alone[1][0]) == (wdl[i], dtm[i])
        value = look_up(row, to_play[i], 0, work[0], work[1], memory)
        assert (wdl[i] == UNKNOWN) == (value == 255)
        assert dtm[i] == (value - 1 if 0 < value < 255 else -1)
        assert wdl[i] in (UNKNOWN, 0 if dtm[i] < 0 else 1 if dtm[i] % 2 else -1)
    assert set(wdl.tolist()) == {UNKNOWN, -1, 0, 1}


def test_no_positions_are_no_trouble(tables: Tables) -> None:
    wdl, dtm = tables.probe_many(np.zeros((0, 20), np.int8), 1)
    assert len(wdl) == len(dtm) == 0
    assert tables.probe_states([]) == []


def test_what_no_table_has_is_unknown(tables: Tables) -> None:
    start = microchess.State.new()
    assert tables.probe(start) is None
    assert tables.moves(start) is None
    assert tables.best_move(start) is None
    assert tables.pieces == 4
    assert tables.probe(state("k3/4/1K2/1N2/1B1R w")) is None  # five pieces


def test_five_pieces_are_played_by_tables_of_four_only_if_every_move_is_known(tables: Tables) -> None:
    assert tables.moves(state("kn2/4/1K2/1N2/3R w")) is None


def test_tables_of_the_other_rule_are_refused(tables: Tables) -> None:
    with pytest.raises(ValueError, match="with the double step"):
        tables.probe(state("k3/4/1K2/4/3R w", double_step=False))


def test_under_ncsoft_rules_only_mates_in_time_are_known(tables: Tables) -> None:
    assert tables.probe(state("k3/4/1K2/4/3R w - - 0 1", rules="ncsoft")) == TableValue(1, 1)
    assert tables.probe(state("k3/4/1K2/4/3R w - - 0 40", rules="ncsoft")) == TableValue(1, 1)
    assert tables.probe(state("k3/4/2K1/4/3R w - - 0 40", rules="ncsoft")) is None
    assert tables.probe(state("k3/4/4/4/3K w", rules="ncsoft")) is None  # a draw that material decides


def test_a_move_that_ends_the_game_has_the_value_of_its_end(tables: Tables) -> None:
    cycle = ("d1d2", "a5b5", "d2d1", "b5a5")
    before = play("k3/4/1K2/4/3R w", *cycle, *cycle[:3])  # one move before the first position comes for the third time
    values = {before.move_name(choice.move): choice.value for choice in tables.moves(before) or []}
    assert values["b5a5"] == TableValue(0, None)
    assert tables.best_move(before) == before.parse_move("b5a5")


def test_moves_come_best_first(tables: Tables) -> None:
    now = state("k3/4/1K2/4/3R w")
    moves = tables.moves(now) or []
    assert moves[0].value == TableValue(1, 1)
    assert sorted(choice.move for choice in moves) == now.legal_moves()
    distances = [choice.value.dtm for choice in moves if choice.value.wdl > 0]
    assert distances == sorted(distances, key=int)


# -------------------------------------------------------------------------------------------- judgement


def play(fen: str, *moves: str) -> microchess.State:
    now = state(fen)
    for text in moves:
        now = now.play(now.parse_move(text))
    return now


def test_who_stalemates_has_thrown_the_win_away(tables: Tables) -> None:
    assert mistakes(tables, play("k3/4/1K1Q/4/4 w", "d3d4", "a5b5", "d4b4")) == []
    (judged,) = mistakes(tables, play("k3/4/1K1Q/4/4 w", "d3c4"))
    assert (judged.player, judged.before, judged.after) == (1, 1, 0)
    assert judged.state.move_name(judged.move) == "d3c4"


def test_who_resigns_a_draw_has_thrown_it_away(tables: Tables) -> None:
    (judged,) = mistakes(tables, state("k3/4/4/1P2/3K b").play(RESIGN))
    assert (judged.player, judged.move, judged.before, judged.after) == (2, RESIGN, 0, -1)
    assert mistakes(tables, state("4/3k/1K2/2P1/4 b").play(RESIGN)) == []  # it was lost


def test_who_repeats_a_won_position_has_thrown_it_away(tables: Tables) -> None:
    cycle = ("d1d2", "a5b5", "d2d1", "b5a5")
    game = play("k3/4/1K2/4/3R w", *cycle, *cycle)
    assert game.end_reason == "threefold repetition"
    judged = evaluate_games(tables, [game])
    assert len(judged) == 8
    assert [move.is_mistake for move in judged] == [False] * 8  # Black, who was lost, made the last move
    game = play("k3/4/1K2/4/3R b", "a5b5", "d1d2", "b5a5", "d2d1", "a5b5", "d1d2", "b5a5", "d2d1")
    assert [move.is_mistake for move in evaluate_games(tables, [game])] == [False] * 7 + [True]


def test_moves_outside_the_tables_are_not_judged(tables: Tables) -> None:
    start = microchess.State.new()
    assert evaluate_games(tables, [start.play(start.legal_moves()[0])]) == []
    assert evaluate_games(tables, []) == []


# ------------------------------------------------------------------------------------------------ files


def test_a_build_goes_on_where_it_was_stopped(folder: Path, tmp_path: Path) -> None:
    for path in folder.glob("*.mct"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    lost, damaged = (table_path(tmp_path, Material.parse(name), True) for name in ("KRKP", "KQKR"))
    lost.unlink()
    damaged.write_bytes(damaged.read_bytes()[:-5])
    built = []
    facts = build_tables(tmp_path, 4, report=lambda facts, fresh: built.append(facts.material) if fresh else None)
    assert sorted(built) == ["KQKR", "KRKP"]
    assert len(facts) == len(all_materials(4))
    assert lost.read_bytes() == (folder / lost.name).read_bytes()
    assert damaged.read_bytes() == (folder / damaged.name).read_bytes()


def test_facts_count_the_positions(tables: Tables) -> None:
    for material in tables.materials:
        table = tables.file(material)
        values = table.values()
        assert len(values) == table.facts.positions
        assert (values != 255).sum() == table.facts.legal


def test_what_is_not_a_table_is_refused_with_a_remedy(folder: Path, tmp_path: Path) -> None:
    material = Material.parse("KRKP")
    good = table_path(folder, material, True).read_bytes()
    path = table_path(tmp_path, material, True)
    with pytest.raises(TableError, match="missing: make it again"):
        open_table(tmp_path, material, True)
    header = good.index(b"{")
    for bad in (b"", b"nonsense" * 9, good[:20], good[:-1], good + b"x", good[:header] + b"[" + good[header + 1 :]):
        path.write_bytes(bad)
        with pytest.raises(TableError, match="tengen tables build"):
            open_table(tmp_path, material, True)
    path.write_bytes(table_path(folder, Material.parse("KQKP"), True).read_bytes())
    with pytest.raises(TableError, match="another table"):
        open_table(tmp_path, material, True)
    path.write_bytes(good[:-3] + bytes([good[-3] ^ 1]) + good[-2:])
    with pytest.raises(TableError, match="damaged"):
        TableFile(path).values()


def test_values_survive_the_file(tmp_path: Path) -> None:
    material = Material.parse("KQK")
    size = TableFile(_written(tmp_path, material, np.zeros(2 * 69 * 20, np.uint8))).facts.positions
    values = np.random.default_rng(0).integers(0, 256, size).astype(np.uint8)
    assert np.array_equal(TableFile(_written(tmp_path, material, values)).values(), values)


def _written(folder: Path, material: Material, values: np.ndarray) -> Path:
    write_table(folder, material, True, values)
    return table_path(folder, material, True)


def test_no_tables_are_told_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="tengen tables build microchess --no-double-step"):
        Tables.open(tmp_path, double_step=False)
