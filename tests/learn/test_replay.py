"""The replay memory gives back what was put in, turned if asked; chunks on the disk do, too."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.encode.game_spec import GameSpec
from tengen.games.go.rules import GoOptions
from tengen.games.microchess.board import MicrochessOptions
from tengen.games.symmetry import SYMMETRIES, transform_array, transform_policy
from tengen.learn.replay import ChunkFacts, ChunkFolder, PlayedGames, ReplayMemory, pack, window_size
from tengen.runs.folder import FolderError

from .zero_stand_ins import made_up_data

GO = GameSpec(GoOptions(5, komi=3.5), "compact")
CHESS = GameSpec(MicrochessOptions(), "microchess")


@pytest.fixture(params=[GO, CHESS], ids=lambda spec: spec.options.game)
def game(request: pytest.FixtureRequest) -> GameSpec:
    return request.param


def test_a_batch_is_what_was_put_in(game: GameSpec) -> None:
    data = made_up_data(game, 60, seed=1)
    memory = ReplayMemory(game, 100)
    memory.add(pack(data), 0)
    numbers = np.array([7, 0, 59, 7, 31])
    batch = memory.batch(numbers)
    np.testing.assert_array_equal(batch.planes, data.planes[numbers])
    np.testing.assert_allclose(batch.policy, data.policy[numbers].astype(np.float32), atol=2e-3)
    np.testing.assert_allclose(batch.policy.sum(axis=1), [1, 0, 1, 1, 1], atol=1e-6)
    np.testing.assert_array_equal(np.packbits(batch.legal, axis=1), data.legal[numbers])
    np.testing.assert_array_equal(batch.value, data.value[numbers])
    np.testing.assert_allclose(batch.root_value, data.root_value[numbers], atol=1e-3)
    np.testing.assert_array_equal(batch.ownership, data.ownership[numbers])
    np.testing.assert_array_equal(batch.score, data.score[numbers])
    known = data.counted[data.game[numbers]] & game.game.territory
    np.testing.assert_array_equal(batch.counted, known)


def test_new_positions_write_over_the_oldest(game: GameSpec) -> None:
    memory = ReplayMemory(game, 50)
    everything = [made_up_data(game, count, seed=count) for count in (30, 15, 120, 7)]
    first = 1000  # a memory that is filled again after a stop begins anywhere
    for data in everything:
        memory.add(pack(data), first)
        first += len(data.value)
    assert memory.total == 1172
    planes = np.concatenate([data.planes for data in everything])
    policy = np.concatenate([data.policy for data in everything]).astype(np.float32)
    numbers = np.arange(1122, 1172)
    batch = memory.batch(numbers)
    np.testing.assert_array_equal(batch.planes, planes[numbers - 1000])
    np.testing.assert_allclose(batch.policy, policy[numbers - 1000], atol=2e-3)
    assert memory.start(10, 1172) == 1162
    assert memory.start(10, 1150) == 1140
    assert memory.start(500, 1172) == 1122
    with pytest.raises(ValueError, match="position 1172 is next"):
        memory.add(pack(everything[0]), 1173)


def test_positions_are_drawn_evenly_from_the_window() -> None:
    game = GO
    memory = ReplayMemory(game, 1000)
    data = made_up_data(game, 1000, seed=3)
    data = data._replace(score=np.arange(1000, dtype=np.float32))
    memory.add(pack(data), 0)
    drawn = memory.draw(np.random.default_rng(5), 20_000, 200, 300).score
    counts = np.bincount(drawn.astype(int), minlength=1000)
    assert counts[200:300].min() > 120
    assert counts.sum() == counts[200:300].sum()


@given(st.integers(0, 1000))
def test_every_eighth_of_a_batch_goes_through_a_symmetry_of_its_own(seed: int) -> None:
    game = GO
    memory = ReplayMemory(game, 40)
    data = made_up_data(game, 40, seed)
    memory.add(pack(data), 0)
    numbers = np.arange(40)
    plain, turned = memory.batch(numbers), memory.batch(numbers, symmetries=True)
    for i in range(40):
        k = i // (40 // SYMMETRIES)
        np.testing.assert_array_equal(turned.planes[i], transform_array(plain.planes[i], k))
        np.testing.assert_array_equal(turned.policy[i], transform_policy(plain.policy[i], k, 5))
        np.testing.assert_array_equal(turned.legal[i], transform_policy(plain.legal[i], k, 5))
        owners = transform_array(plain.ownership[i].reshape(5, 5), k).ravel()
        np.testing.assert_array_equal(turned.ownership[i], owners)
    np.testing.assert_array_equal(turned.value, plain.value)


def test_chess_has_no_symmetries() -> None:
    game = CHESS
    memory = ReplayMemory(game, 16)
    memory.add(pack(made_up_data(game, 16, seed=1)), 0)
    plain, asked = (memory.batch(np.arange(16), symmetries=symmetries) for symmetries in (False, True))
    np.testing.assert_array_equal(plain.planes, asked.planes)


def test_other_planes_than_zeros_and_ones_are_refused(game: GameSpec) -> None:
    data = made_up_data(game, 5, seed=1)
    with pytest.raises(ValueError, match="zeros and ones"):
        pack(data._replace(planes=data.planes * 2))


def test_the_window_grows_as_katago_says() -> None:
    """Wu 2019, appendix: c = 250,000, beta = 0.4, alpha = 0.75; 2.4e8 samples make a window of 22 million."""
    assert window_size(100, 250_000, 0.75, 0.4, 10**9) == 100
    assert window_size(250_000, 250_000, 0.75, 0.4, 10**9) == 250_000
    assert window_size(241_000_000, 250_000, 0.75, 0.4, 10**9) == pytest.approx(22e6, rel=0.1)
    assert window_size(241_000_000, 250_000, 0.75, 0.4, 10**6) == 10**6


@given(st.integers(0, 10**7), st.integers(0, 10**5), st.sampled_from([0.0, 0.5, 0.75, 1.0]))
def test_the_window_never_reaches_back_to_what_it_has_left(positions: int, more: int, growth: float) -> None:
    sizes = [window_size(count, 5000, growth, 0.4, 200_000) for count in (positions, positions + more)]
    assert 0 <= sizes[0] <= positions
    assert positions - sizes[0] <= positions + more - sizes[1] + 1


def facts_of(first: int, positions: int, iteration: int) -> ChunkFacts:
    return ChunkFacts(first, positions, iteration, iteration - 1, first // 10, first * 8, 1.5)


def test_chunks_are_read_as_they_were_written(game: GameSpec, tmp_path: Path) -> None:
    folder = ChunkFolder(tmp_path / "chunks")
    written = []
    for i, count in enumerate((20, 30, 10)):
        data = made_up_data(game, count, seed=i)
        facts = facts_of(sum(len(packed.value) for packed, _ in written), count, i // 2 + 1)
        written.append((pack(data), PlayedGames.of(data)))
        folder.write(*written[-1], facts)
    (tmp_path / "chunks" / f".00000000060.safetensors.{'0f' * 16}.part").write_bytes(b"cut off")
    again = ChunkFolder(tmp_path / "chunks")
    assert again.facts == folder.facts
    assert [facts.end for facts in again.facts] == [20, 50, 60]
    for facts, (positions, games) in zip(again.facts, written):
        for one, other in zip((*positions, *games), (*again.read(facts), *again.read_games(facts))):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
    assert [facts.first for facts in again.since(25)] == [20, 50]
    again.drop_before(49)
    assert [facts.first for facts in again.facts] == [20, 50]
    assert {path.name for path in (tmp_path / "chunks").iterdir()} == {
        "00000000020.safetensors",
        "00000000050.safetensors",
    }


def test_a_chunk_that_is_missing_ends_what_can_be_used(tmp_path: Path) -> None:
    game = GO
    folder = ChunkFolder(tmp_path)
    for i in range(4):
        data = made_up_data(game, 10, seed=i)
        folder.write(pack(data), PlayedGames.of(data), facts_of(10 * i, 10, 1))
    (tmp_path / "00000000010.safetensors").unlink()
    assert [facts.first for facts in ChunkFolder(tmp_path).since(0)] == [20, 30]
    (tmp_path / "00000000020.safetensors").write_bytes(b"broken")
    with pytest.raises(FolderError, match="delete it to resume without it"):
        ChunkFolder(tmp_path)
