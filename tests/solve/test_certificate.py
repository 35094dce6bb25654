"""Proofs on paper: what the solver proves, the checker accepts, and nothing else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve.bitboard import board_points
from tengen.solve.bitboard import count as count_points
from tengen.solve.bitboard import safe_points as fast_safe_points
from tengen.solve.certificate import Certificate, Statement
from tengen.solve.check import check
from tengen.solve.check_positions import CertificateError
from tengen.solve.extract import TableStrategy, extract
from tengen.solve.go_solver import Claim, Solver, points_of

from .slow_checker import board_of, safe_points
from .test_bitboard import random_states


def proof(size: int, rules: str, color: int, margin: int) -> Certificate:
    state = go.State.new(size, rules, komi=0.5)
    solver = Solver(size, get_rules(rules), memory=0.1)
    claim = Claim(color, margin)
    assert solver.prove(state, claim)
    return extract(TableStrategy(solver, claim), state)


@pytest.fixture(scope="module")
def nine_points() -> Certificate:
    return proof(3, "simple-go", go.BLACK, 9)


@pytest.mark.parametrize("rules", ["simple-go", "chinese"])
def test_the_proof_of_3x3_is_accepted(rules: str, tmp_path: Path) -> None:
    certificate = proof(3, rules, go.BLACK, 9)
    certificate.save(tmp_path / "proof.safetensors")
    loaded = Certificate.load(tmp_path / "proof.safetensors")
    assert loaded.statement == certificate.statement
    checked = check(loaded)
    assert checked.positions == len(certificate.keys) > 10
    assert checked.ended > 0


def test_a_proof_of_too_much_is_refused(nine_points: Certificate) -> None:
    with pytest.raises(CertificateError):
        check(replace(nine_points, statement=replace(nine_points.statement, margin=10)))


def test_a_proof_for_the_other_player_is_refused(nine_points: Certificate) -> None:
    with pytest.raises(CertificateError):
        check(replace(nine_points, statement=replace(nine_points.statement, color=go.WHITE)))


def test_a_proof_with_a_missing_position_is_refused(nine_points: Certificate) -> None:
    for left_out in range(len(nine_points.keys)):
        keys, moves = np.delete(nine_points.keys, left_out), np.delete(nine_points.moves, left_out)
        with pytest.raises(CertificateError, match="has no move"):
            check(replace(nine_points, keys=keys, moves=moves))


def test_a_proof_with_another_first_move_is_refused(nine_points: Certificate) -> None:
    moves = nine_points.moves.copy()
    moves[0] = 0  # the corner; key 0 is the empty board
    with pytest.raises(CertificateError):
        check(replace(nine_points, moves=moves))


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a proof")
    with pytest.raises(ValueError, match="not a certificate"):
        Certificate.load(path)


def test_rules_that_count_territory_are_refused_as_the_solver_refuses_them(tmp_path: Path) -> None:
    statement = Statement(2, "japanese", 0.5, go.BLACK, -4, go.BLACK)
    Certificate(statement, np.empty(0, np.int64), np.empty(0, np.int8)).save(tmp_path / "proof.safetensors")
    with pytest.raises(ValueError, match="under japanese rules, which count territory: only area can be proven"):
        Certificate.load(tmp_path / "proof.safetensors")


@pytest.mark.parametrize("wrong", [np.zeros(3, np.int64), np.zeros((3, 1), np.int8), np.zeros(2, np.int8)])
def test_moves_of_another_kind_are_refused(wrong: NDArray[np.generic], tmp_path: Path) -> None:
    statement = Statement.about(go.State.new(3, "chinese", 0.5), go.BLACK, 9)
    Certificate(statement, np.arange(3), wrong).save(tmp_path / "proof.safetensors")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="of another kind"):
        Certificate.load(tmp_path / "proof.safetensors")


@pytest.mark.parametrize("size", [3, 4, 5])
def test_the_checker_finds_the_same_safe_points_as_the_solver(size: int) -> None:
    found = 0
    for state in random_states(size, get_rules("simple-go"), 40, seed=size):
        for color in (go.BLACK, go.WHITE):
            other = go.BLACK + go.WHITE - color
            fast = fast_safe_points(points_of(state, color), points_of(state, other), board_points(size))
            slow = safe_points(board_of(state, color))
            assert {5 * (point // size) + point % size for point in slow} == {p for p in range(25) if fast >> p & 1}
            found += int(count_points(fast)) > 0
    assert found > 20
