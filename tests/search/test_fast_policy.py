"""The fast policy: its features against a slow version, its symmetry, and its opinion of a position."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE, from_gtp, opponent
from tengen.games.go.board import EMPTY, NO_CELL
from tengen.games.go.coordinates import from_cell, to_cell
from tengen.games.go.legality import is_breathing
from tengen.games.go.playout import is_eye
from tengen.games.go.rules import TERRITORY_KEPT
from tengen.games.symmetry import SYMMETRIES, symmetry_points
from tengen.nets.model_file import ModelFileError
from tengen.search.fast_policy import (
    SECTIONS,
    WEIGHTS,
    FastPolicy,
    find_candidates,
    last_cells,
    new_candidates,
    new_scene,
    sections_of,
    survey,
)
from tengen.search.fast_shapes import BREATHING, EYE, PEACEFUL, read_shape, shape_tables, swap_shape

from ..encode.games import guided_game, mixed_states
from .slow_features import Point, slow_features

HASHED = ("diamond", "response")
NAMES = [name for name, count in SECTIONS.items() for _ in range(count)]
FIRST = {name: NAMES.index(name) for name in SECTIONS}


def features_of(state: go.State, last: int, before: int) -> dict[int, dict[str, int]]:
    """By move (PASS among them): the number of its feature in each section."""
    scene, candidates = new_scene(state.size), new_candidates(state.size)
    survey(state.board, scene)
    n = find_candidates(state.board, scene, shape_tables(), last, before, state.to_play, candidates)
    found = {}
    for i in range(n):
        cell = int(candidates.cells[i])
        listed = candidates.features[i, : candidates.counts[i]].tolist()
        named = {NAMES[feature]: feature - FIRST[NAMES[feature]] for feature in listed}
        assert len(named) == len(listed)
        found[from_cell(cell, state.size) if cell else PASS] = named
    return found


def some_states(size: int, count: int, seed: int = 0) -> list[tuple[go.State, int, int]]:
    """States with the cells of their last moves."""
    return [(state, *last_cells(state)) for state in mixed_states(size, count, seed) if not state.is_over]


def grid(cell: int, size: int) -> Point | None:
    return None if cell == NO_CELL else divmod(from_cell(cell, size), size)


@pytest.mark.parametrize(("size", "count"), [(2, 20), (3, 40), (5, 120), (9, 60), (19, 12)])
def test_features_are_those_of_the_slow_version(size: int, count: int) -> None:
    meaning_of: dict[tuple[str, int], set[object]] = defaultdict(set)
    number_of: dict[tuple[str, object], set[int]] = defaultdict(set)
    for state, last, before in some_states(size, count):
        fast = features_of(state, last, before)
        slow = slow_features(state, grid(last, size), grid(before, size))
        assert fast.pop(PASS) == {"pass": int(state.last_move == PASS)}
        assert sorted(fast) == sorted(row * size + col for row, col in slow)
        for (row, col), meanings in slow.items():
            numbers = fast[row * size + col]
            assert numbers.keys() == meanings.keys()
            for name, meaning in meanings.items():
                meaning_of[name.replace("near", "shape"), numbers[name]].add(meaning)
                number_of[name.replace("near", "shape"), meaning].add(numbers[name])
    assert [key for key, numbers in number_of.items() if len(numbers) > 1] == []
    shared = [key for key, meanings in meaning_of.items() if len(meanings) > 1]
    assert all(name in HASHED for name, _ in shared)
    assert len(shared) <= 0.02 * len(meaning_of)


@pytest.mark.parametrize("size", [5, 9])
def test_features_turn_with_the_board_and_change_with_the_colours(size: int) -> None:
    for state, last, before in some_states(size, 30, seed=7):
        if state.ko_point is not None:
            continue
        here = features_of(state, last, before)
        here.pop(PASS)
        for k in range(SYMMETRIES):
            table = symmetry_points(size)[k]
            turned = np.zeros(size * size, np.int8)
            turned[table] = state.stones.ravel()
            black, white = (np.flatnonzero(turned == color).tolist() for color in (BLACK, WHITE))
            there = go.State.setup(size, "chinese", black=white, white=black, to_play=opponent(state.to_play))
            cells = (to_cell(int(table[from_cell(p, size)]), size) if p else NO_CELL for p in (last, before))
            found = features_of(there, *cells)
            found.pop(PASS)
            assert found == {int(table[move]): features for move, features in here.items()}


def test_shapes_know_suicide_and_eyes() -> None:
    tables = shape_tables()
    for size in (2, 3, 5, 9):
        for state, _, _ in some_states(size, 60, seed=3):
            scene, board = new_scene(size), state.board
            survey(board, scene)
            for p in np.flatnonzero(board.color == EMPTY).tolist():
                code = read_shape(board, scene.classes, p)
                for color in (BLACK, WHITE):
                    shape = tables.shape[code if color == BLACK else swap_shape(code, tables)]
                    assert bool(shape & BREATHING) == is_breathing(board, p, color)
                    assert bool(shape & EYE) == is_eye(board, p, color, 0)
                    assert bool(shape & PEACEFUL) == is_eye(board, p, color, TERRITORY_KEPT)


def test_scores_are_sums_of_weights() -> None:
    weights = np.random.default_rng(1).normal(size=WEIGHTS).astype(np.float32)
    for state, last, before in some_states(5, 20):
        scores = FastPolicy(weights).scores(state)
        for move, features in features_of(state, last, before).items():
            expected = sum(float(weights[FIRST[name] + number]) for name, number in features.items())
            assert scores[move] == pytest.approx(expected, abs=1e-4)


def test_a_capture_stands_out() -> None:
    """With nothing but a weight on captures, the move that captures is the likeliest."""
    weights = np.zeros(WEIGHTS, np.float32)
    sections_of(weights)["tactic"][80:] = 1.0
    state = go.State.new(5)
    for move in ("A1", "A2", "pass", "B3", "pass"):
        state = state.play(from_gtp(move, 5))
    scores = FastPolicy(weights).scores(state.with_to_play(WHITE))
    assert max(scores, key=lambda move: scores[move]) == from_gtp("B1", 5)


def test_the_model_file_keeps_a_policy(tmp_path: object) -> None:
    path = f"{tmp_path}/model.safetensors"
    weights = np.random.default_rng(2).normal(size=WEIGHTS).astype(np.float32)
    FastPolicy(weights).save(path, size=9, training={}, half=False)
    assert np.array_equal(FastPolicy.load(path).weights, weights)
    FastPolicy(weights).save(path, size=9, training={})
    assert np.allclose(FastPolicy.load(path).weights, weights, atol=0.01)


def test_a_file_with_other_contents_is_refused(tmp_path: object) -> None:
    from tengen.nets.model_file import ModelCard, write_tensors

    path = f"{tmp_path}/model.safetensors"
    for network in ("small", "fast-policy"):
        write_tensors(path, {"shape": np.zeros(3)}, ModelCard("go", 19, "chinese", network, 0, network))
        with pytest.raises(ModelFileError, match="fast policy"):
            FastPolicy.load(path)


def test_last_cells_follow_the_game() -> None:
    for earlier, later in pairwise(guided_game(5, 3)):
        assert last_cells(later)[1] == last_cells(earlier)[0]
