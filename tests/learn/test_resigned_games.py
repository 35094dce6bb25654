"""Games of self-play that end by resignation: ownership and score are those of playouts, where these are clear."""

import numpy as np
import pytest

from tengen.encode.game_spec import GameSpec
from tengen.games import go
from tengen.games.go import BLACK, WHITE
from tengen.games.go.coordinates import from_gtp
from tengen.games.go.rules import GoOptions
from tengen.learn.replay import pack
from tengen.learn.selfplay import SelfPlayData, SelfPlayWorker
from tengen.learn.zero_settings import SelfPlaySettings

SPEC = GameSpec(GoOptions(size=5, komi=0.5), "compact")
POINTS = SPEC.batch.height * SPEC.batch.width
EYES = {from_gtp(f"{column}{row}", 5) for column in "AE" for row in (1, 3, 5)}
BLACKS, WHITES = (
    {from_gtp(f"{column}{row}", 5) for column in columns for row in range(1, 6)} - EYES for columns in ("ABC", "DE")
)
WALLS = go.State.setup(5, "chinese", 0.5, BLACKS, WHITES)
"""Black has three columns and White two, each with three eyes: it does not matter what is played."""


class Certain:
    """A network that is sure who wins whatever happens, and wants to play on."""

    architecture = None

    def __init__(self, winner: int) -> None:
        self.winner = winner

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        black_to_play = planes[:, 8, 0, 0] > 0
        values = np.where(black_to_play == (self.winner == BLACK), 0.999, -0.999)
        logits = np.zeros((len(planes), POINTS + 1), np.float32)
        logits[:, -1] = -20.0  # the pass
        return logits, values.astype(np.float32)


def resigned_games(winner: int, start: go.State | None) -> SelfPlayData:
    """Games from `start` in which one player gives up after two moves."""
    settings = SelfPlaySettings(simulations=2, slots=4, random_plies=0, resign=-0.9, resign_keep=0.0)
    worker = SelfPlayWorker(SPEC, settings, seed=1)
    worker.use(Certain(winner))
    if start is not None:
        for slot in range(settings.slots):
            SPEC.batch.load(worker._games, slot, start)
        SPEC.batch.judge(worker._games, settings.slots, worker._legal, worker._over, worker._results)
    data = worker.play(2 * settings.slots)
    assert data.resigned.all()
    assert (data.winner == winner).all()
    return data


def test_a_clear_position_teaches_ownership_and_score() -> None:
    data = resigned_games(BLACK, WALLS)
    assert data.counted.all() and pack(data).counted.all()
    sign = np.where(data.value > 0, 1, -1)  # Black wins: 1 where it is Black's turn
    owners = np.tile([1, 1, 1, -1, -1], 5)
    assert np.array_equal(data.ownership, sign[:, None] * owners)
    np.testing.assert_allclose(data.score, sign * 4.5, atol=0.5)


def test_playouts_that_see_the_other_player_win_leave_the_game_uncounted() -> None:
    data = resigned_games(WHITE, WALLS)
    assert not data.counted.any() and not pack(data).counted.any()
    assert not data.ownership.any() and not data.score.any()


def test_an_open_board_is_not_clear() -> None:
    data = resigned_games(BLACK, None)
    assert not data.counted.any()


@pytest.mark.parametrize("komi", [0.5, 7.5])
def test_an_estimate_is_the_mean_of_playouts(komi: float) -> None:
    games = SPEC.batch.allocate(2)
    SPEC.batch.load(games, 1, WALLS.with_komi(komi))
    margins, owners, clear = SPEC.batch.estimate(games, np.array([1, 0]))
    assert clear.tolist() == [True, False]
    assert np.array_equal(owners[0], np.tile([1, 1, 1, -1, -1], 5))
    assert margins[0] == pytest.approx(5 - komi, abs=0.5)
    assert abs(margins[1]) < 10
