"""Value learning, the third stage of AlphaGo (Silver et al. 2016): who wins, from one position of each of many games.

    loss = mean of (z - v)^2 + policy_weight * KL(p_start || p)         z: 1 the player to move won, -1 lost, 0 a draw

Two kinds of network: AlphaGo's value network (`alphago-value`), for which the second term is missing; or one network
with both heads that starts from a model with a policy, learns the value, and is held to the policy p_start of the
model at the same positions. The positions of game records may be mixed in, one position of each game a pass.

Successive positions of a game share one result, and a network would learn the games by heart. So one is kept of each:

    U drawn from 1 ... last_move;  moves 1 ... U - 1 by the supervised policy;  move U at random among all legal points;
    then the policy that learned by reinforcement to the end.

The position after move U is the one to learn from; what follows was played by the policy whose results are to be
predicted. Games that end before it are left out.

The value loss is the mean of (z - v)^2, on test games and on as many games learned from. Always 0 has a loss of 1; the
best that can be said where the player to move wins with probability q has 4 q (1 - q).

In this file, in order: the run; the trainer with its losses; the folder of positions; the games.
"""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tengen.agents.training_conditions import suited_options
from tengen.data.dataset import Dataset, Selection, Split, is_test, select
from tengen.data.records import digest_of
from tengen.encode.encoder import get_encoder
from tengen.encode.go import get_go_encoder
from tengen.games.go.positions import WHITE_BIT, GameMoves
from tengen.games.go.rules import GoOptions
from tengen.learn.distributed import find_device
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.report import write_value_curves
from tengen.learn.settings import VALUE_ENCODER, VALUE_NETWORK, PositionSettings, ValueConfig
from tengen.learn.trainer import CALIBRATION, TrainingRun, check_start, predictor
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.nets.model_file import ModelCard, find_model, read_card
from tengen.nets.network import Network, PolicyValueOutput
from tengen.nets.registry import describe_network, network_spec, parse_network
from tengen.runs.arrays import ArrayFolder
from tengen.runs.folder import FolderError, RunDirectory, read_settings
from tengen.runs.progress import OnProgress, RunProgress, ignore_progress, reporting
from tengen.search.lockstep import PolicyPlay, PolicyPlayer, batch_for, play_in_lockstep
from tengen.workers.calls import WorkerFactory, Workers
from tengen.workers.local import ProcessWorkers
from tengen.workers.sent_files import SentFile

GAMES_FOLDER: Final = "games"
"""Where a run keeps its positions unless --data says otherwise."""
CHUNK: Final = 2048
"""Games that a chunk of positions begins."""
_BATCH: Final = 256  # positions of a validation that are evaluated together
_WAIT: Final = 0.1  # seconds for which one worker is listened to
_SLOTS: Final = 512  # games side by side
_NOBODY, _SUPERVISED, _REINFORCED = -1, 0, 1  # who moves


def learn_value(
    config: ValueConfig,
    out: str | Path,
    on_progress: OnProgress = ignore_progress,
    hosts: WorkerFactory | None = None,
) -> dict[str, Any]:
    """Play games and learn who wins from them, or resume the run in the directory `out`; returns the best validation.

    Ctrl-C ends the run: what is played and learned by then is kept. `hosts`: where workers play, if not in processes of
    this machine. The phases of its progress are "playing" and "training".

    >>> import tempfile
    >>> import tengen
    >>> tiny = {"games": 200, "positions": 256, "validate": 32, "network": "alphago-value:layers=2,filters=4"}
    >>> with tempfile.TemporaryDirectory() as run:
    ...     best = tengen.learn_value(tengen.ValueConfig(policy="go5", **tiny), run)
    >>> 0 <= best["value_loss"] <= 4
    True
    """
    out = Path(out)
    config = resolve(config)
    check_config(config)
    folder = Path(config.data) if config.data else out / GAMES_FOLDER
    torch.set_num_threads(config.threads)
    run = config.open_run(out)
    try:
        with reporting(out, on_progress, write_value_curves) as report_and_write:
            if config.policy:
                games = position_settings(config)
                play_positions(
                    games, folder, config.games, workers=config.workers, on_progress=report_and_write, hosts=hosts
                )
            return ValueTrainer(config, run, ValuePositions.open(folder, config.games)).train(report_and_write)
    finally:
        run.close()


def resolve(config: ValueConfig) -> ValueConfig:
    """The configuration with all that follows from its models and positions filled in."""
    start = read_card(find_model(config.start_from)) if config.start_from else None
    if config.policy:
        card = read_card(find_model(config.policy))
        size = config.size or card.size
        komi = config.komi
        if komi != komi:
            suited = suited_options(card).get("komi", GoOptions(size=size, rules=config.rules).komi)
            assert isinstance(suited, int | float)
            komi = float(suited)
        last_move = config.last_move or max(1, 3 * size * size // 4)
        config = replace(config, size=size, komi=komi, last_move=last_move, rl=config.rl or config.policy)
    else:
        there = ValuePositions.open(config.data, config.games).settings
        config = replace(config, size=there.size, rules=there.rules, komi=there.komi, komi_spread=there.komi_spread)
        config = replace(config, last_move=there.last_move, temperature=there.temperature)
    network, encoder = VALUE_NETWORK, VALUE_ENCODER
    if start is not None:
        heads = {"value": True, "ownership": False, "score": False}
        kept = {name: heads.get(name, value) for name, value in start.arguments.items()}
        network, encoder = network_spec(start.network, kept), start.encoder
    return replace(config, network=config.network or network, encoder=config.encoder or encoder)


def position_settings(config: ValueConfig) -> PositionSettings:
    """The games that a configuration, with all filled in, asks for."""
    return PositionSettings(**{name: getattr(config, name) for name in PositionSettings.__dataclass_fields__})


def check_config(config: ValueConfig) -> None:
    """Find mistakes while there is no run directory yet."""
    if config.policy and not config.games:
        raise ValueError("games is 0: give the number of games to play, or leave --policy out to use those in --data")
    find_device(config.device)
    name, arguments = parse_network(config.network)
    parts = describe_network(name, get_go_encoder(config.encoder).planes, config.size, **arguments)
    if not parts.value:
        raise ValueError(f"{config.network} has no value head: add value=yes, or take {VALUE_NETWORK}")
    if parts.ownership or parts.score:
        raise ValueError(f"these games do not teach ownership and score: leave the heads out of {config.network}")
    if parts.policy and not config.start_from:
        raise ValueError(f"{config.network} has a policy, which needs a model to be held to: give --start-from")
    if config.start_from:
        check_start(config)
        if parts.policy and not read_card(find_model(config.start_from)).architecture().policy:
            raise ValueError(f"{config.start_from} has no policy that {config.network} could be held to")
    if config.komi_spread and config.encoder != "compact-komi":
        raise ValueError(f"{config.encoder} does not show the komi that komi_spread draws: take compact-komi")
    if config.records:
        _known_records(config)
    if config.policy:
        settings = position_settings(config)
        options = GoOptions(size=settings.size, rules=settings.rules, komi=settings.komi)
        for model in (settings.policy, settings.rl):
            card = read_card(find_model(model))
            if card.game != "go" or card.size != options.size:
                board = f"{options.size}x{options.size}"
                raise ValueError(f"{model} plays {card.game} on {card.size}x{card.size}, and the games are on {board}")
        if settings.last_move > 3 * options.size**2 - 2:
            raise ValueError(f"last_move is {settings.last_move}: games end after {3 * options.size**2} moves at most")


def _known_records(config: ValueConfig) -> Selection:
    """The records to learn from whose result is known."""
    games = select(Dataset.open(config.records), "train", size=config.size)
    known = games.game_moves.known[games.rows]
    if not known.any():
        raise ValueError(f"no game of {config.records} has a result: leave --records out")
    return Selection(games.rows[known], games.game_moves, games.lengths[known], games.size)


# ------------------------------------------------------------------------------------------ training


class ValueBatch(NamedTuple):
    """B positions to learn from."""

    planes: NDArray[np.uint8]  # [B, C, N, N]
    winner: NDArray[np.int8]  # [B] 1 if the player to move won, -1 if the opponent did, 0 for a draw
    policy: NDArray[np.float32] | None  # [B, A] logits of the model to be held to


class ValueTrainer(TrainingRun[ValueConfig, ValueBatch]):
    """Learns the results of games, and if there is one, keeps the policy of the model it started from."""

    def __init__(self, config: ValueConfig, run: RunDirectory, positions: "ValuePositions") -> None:
        self.encoder, self._positions = get_go_encoder(config.encoder), positions
        super().__init__(config, run, self.encoder.planes)
        self._teacher: Evaluator | None = None
        if self.network.policy is not None:
            self._teacher, _ = load_evaluator(config.start_from, "openvino", config.threads)

    def batches(self) -> Generator[ValueBatch]:
        with ExitStack() as stack:
            sources = [stack.enter_context(closing(loader.batches())) for loader in self._loaders()]
            while True:
                yield self._batch([next(source) for source in sources])

    def losses(self, output: PolicyValueOutput, batch: ValueBatch) -> tuple[Tensor, dict[str, Tensor]]:
        assert output.value is not None
        error = (output.value.float() - torch.from_numpy(batch.winner)).square().mean()
        if batch.policy is None:
            return error, {"loss": error, "value_loss": error}
        distance = divergence(torch.from_numpy(batch.policy), output.policy.float())
        total = error + self.config.policy_weight * distance
        return total, {"loss": total, "value_loss": error, "policy_divergence": distance}

    def measure(self, network: Network) -> dict[str, Any]:
        tested = [self._answers(network, batch) for batch in self._validation("test")]
        fitted = [self._answers(network, batch) for batch in self._validation("train")]
        errors = np.concatenate([squares for squares, _ in tested])
        found = {"positions": len(errors), "loss": float(errors.mean()), "value_loss": float(errors.mean())}
        found["value_loss_standard_error"] = float(errors.std() / len(errors) ** 0.5)
        found["train_value_loss"] = float(np.concatenate([squares for squares, _ in fitted]).mean())
        if self._teacher is not None:
            distances = np.array([distance for _, distance in tested])
            found["policy_divergence"] = float(np.average(distances, weights=[len(squares) for squares, _ in tested]))
            found["loss"] += self.config.policy_weight * found["policy_divergence"]
        return {name: round(value, 5) for name, value in found.items()}

    def describe(self, network: Network, measures: dict[str, Any]) -> ModelCard:
        config, spread = self.config, self._positions.settings.komi_spread
        settings = self._positions.settings
        return ModelCard.of(
            network,
            encoder=config.encoder,
            rules=settings.rules,
            data=f"one position of each of {len(self._positions.test):,} games of "
            f"{Path(settings.policy).name} and {Path(settings.rl).name}",
            recipe=config.recipe("komi", "komi_spread"),
            komi=[settings.komi - spread, settings.komi + spread],
            positions=self.positions,
            hours=round(self.seconds / 3600, 2),
            validation=measures,
        )

    def calibration_planes(self) -> NDArray[np.uint8]:
        return self._loader(self._positions.select("train"), CALIBRATION).batch_at(0, CALIBRATION).planes

    def _loaders(self) -> list[PositionLoader]:
        """Of the games played, and of the records if there are any."""
        config = self.config
        if not config.records:
            return [self._loader(self._positions.select("train"), config.batch)]
        others = min(config.batch - 1, max(1, round(config.records_share * config.batch)))
        return [
            self._loader(self._positions.select("train"), config.batch - others),
            PositionLoader(
                _known_records(config),
                self.encoder,
                batch=others,
                seed=config.seed,
                symmetries=config.symmetries,
                start=self.step * others,
                komi_spread=config.komi_spread,
                which="drawn",
            ),
        ]

    def _loader(self, games: Selection, batch: int) -> PositionLoader:
        config = self.config
        return PositionLoader(
            games,
            self.encoder,
            batch=batch,
            seed=config.seed,
            symmetries=config.symmetries,
            threads=config.loaders,
            start=self.step * batch,
            which="last",
        )

    def _batch(self, parts: list[RecordBatch]) -> ValueBatch:
        planes = np.concatenate([part.planes for part in parts])
        return ValueBatch(planes, np.concatenate([part.winner for part in parts]), self._ask(planes))

    def _ask(self, planes: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        """What the model that the run started from says; it may see fewer planes."""
        if self._teacher is None:
            return None
        return self._teacher.evaluate(np.ascontiguousarray(planes[:, : self._teacher.architecture.planes]))[0]

    def _validation(self, split: Any) -> Iterator[RecordBatch]:
        """The same positions every time."""
        loader = PositionLoader(
            self._positions.select(split), self.encoder, batch=_BATCH, seed=0, symmetries=False, which="last"
        )
        wanted = min(self.config.validate, loader.positions)
        for start in range(0, wanted, _BATCH):
            yield loader.batch_at(start, min(_BATCH, wanted - start))

    def _answers(self, network: Network, batch: RecordBatch) -> tuple[NDArray[np.float32], float]:
        """The squared errors of the values, float32[B], and the mean divergence of the policy."""
        logits, values = predictor(network, self.config.bf16)(batch.planes)
        assert values is not None
        wanted = self._ask(batch.planes)
        distance = 0.0 if wanted is None else float(divergence(torch.from_numpy(wanted), torch.from_numpy(logits)))
        return np.square(values - batch.winner), distance


def divergence(wanted: Tensor, logits: Tensor) -> Tensor:
    """The mean of KL(p || q) in nats, p and q being the softmax of wanted and logits: both [B, A]."""
    target = functional.log_softmax(wanted, dim=1)
    return functional.kl_div(functional.log_softmax(logits, dim=1), target, reduction="batchmean", log_target=True)


# ----------------------------------------------------------------------------------------- positions
# A folder of chunks, each of some thousand games:
#
#     config.toml                    which policies played, on which board, at which komi
#     chunks/000007.safetensors      the games that chunk 7 began and kept
#
# A position is its game's moves up to it, two bytes each: 200,000 games of 9x9 take about 20 MB. Chunk k has its own
# random numbers, so a run that was stopped resumes with the chunks that are missing. A hash of the whole game decides
# whether it is a test game, for ever, however many are added.


class ValueGames(NamedTuple):
    """G games up to the one position that is learned from, and the move after it.

    Game g has moves[offsets[g] : offsets[g + 1]]; the position is the one before the last of these.
    """

    moves: NDArray[np.uint16]  # [T] as in `games.go.positions`
    offsets: NDArray[np.int64]  # [G + 1]
    komi: NDArray[np.float32]  # [G]
    margin: NDArray[np.float32]  # [G] Black's points minus White's and komi at the end of the game
    digest: NDArray[np.uint64]  # [G] of the whole game: decides whether it is a test game


@dataclass(frozen=True)
class ValuePositions:
    """Positions of many games, one of each, and how the games ended."""

    settings: PositionSettings
    games: GameMoves
    test: NDArray[np.bool_]  # [G] which games are test games

    @classmethod
    def open(cls, folder: str | Path, games: int = 0) -> "ValuePositions":
        """Those in a folder: the first `games`, or all with 0."""
        folder = Path(folder)
        try:
            settings = PositionSettings(**read_settings(folder))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise FolderError(f"{folder} holds no positions: `tengen learn value` plays games for them") from None
        there = _chunks(folder, tidy=False)
        chunks = [there.read(number, _games_of) for number in there.numbers()]
        counts = [len(chunk.komi) for chunk in chunks]
        if sum(counts) < max(1, games):
            raise FolderError(
                f"{folder} holds {sum(counts)} games, and {max(1, games)} are wanted: give fewer --games, "
                "or --policy to play more"
            )
        joined = _joined(chunks, games or sum(counts))
        count = len(joined.komi)
        moves = GameMoves(
            joined.moves,
            joined.offsets,
            np.zeros(0, np.uint16),
            np.zeros(count + 1, np.int64),
            joined.komi,
            np.sign(joined.margin).astype(np.int8),
            np.ones(count, np.bool_),
            joined.margin + joined.komi,
        )
        return cls(settings, moves, is_test(joined.digest))

    def select(self, split: Split) -> Selection:
        """The games to learn from, or those to test on."""
        chosen = np.ones(len(self.test), np.bool_) if split == "all" else self.test == (split == "test")
        rows = np.flatnonzero(chosen).astype(np.int64)
        if not len(rows):
            raise FolderError(f"none of {len(self.test)} games is a {split} game: play more --games")
        offsets = self.games.offsets
        return Selection(rows, self.games, offsets[rows + 1] - offsets[rows], self.settings.size)


def play_positions(
    settings: PositionSettings,
    folder: Path,
    games: int,
    *,
    workers: int = 1,
    chunk: int = CHUNK,
    on_progress: OnProgress = ignore_progress,
    hosts: WorkerFactory | None = None,
) -> None:
    """Play until the folder holds so many games. It can be stopped at any time; the same call resumes.

    With `hosts` their workers play, as many as there are, on a cluster maybe.
    """
    run = RunDirectory(folder, asdict(settings), usual={"temperature": 1.0}, kind="positions")
    try:
        kept = _chunks(folder)
        there = sum(len(kept.read(number, _games_of).komi) for number in kept.numbers())
        if there >= games:
            return
        began, first = monotonic(), there
        with _played(settings, _missing(kept), workers, chunk, hosts) as chunks:
            for number, played in chunks:
                kept.write(number, played._asdict())
                there += len(played.komi)
                speed = (there - first) / max(1e-9, monotonic() - began)
                figures = {"games": there, "wanted": games, "games/s": speed}
                on_progress(RunProgress("playing", number, share=min(1.0, there / games), figures=figures))
                if there >= games:
                    break
    finally:
        run.close()


@contextmanager
def _played(
    settings: PositionSettings, numbers: Iterator[int], workers: int, chunk: int, hosts: WorkerFactory | None
) -> Iterator[Iterator[tuple[int, ValueGames]]]:
    """The chunks of these numbers; played in this process, or in the order in which workers have them ready."""
    if workers == 1 and hosts is None:
        player = ValuePlayer(settings)
        yield (player.play(number, chunk) for number in numbers)
        return
    with closing(_pool(hosts, workers, settings)) as pool:
        pool.start()
        yield _collected(pool, numbers, chunk)


def _pool(hosts: WorkerFactory | None, workers: int, settings: PositionSettings) -> Workers:
    models = SentFile(find_model(settings.policy)), SentFile(find_model(settings.rl))
    make = ProcessWorkers if hosts is None else hosts
    return make(0 if hosts else workers, player_of, lambda _: (settings, *models), 0)


def player_of(settings: PositionSettings, policy: str, rl: str) -> "ValuePlayer":
    """A worker that plays the games of these settings with the models of these files."""
    return ValuePlayer(replace(settings, policy=policy, rl=rl))


def _collected(pool: Workers, numbers: Iterator[int], chunk: int) -> Iterator[tuple[int, ValueGames]]:
    """Chunks in the order in which they are ready."""
    under_way = [pool.map("play", [(next(numbers), chunk)]) for _ in range(pool.count)]
    while True:
        for i in range(len(under_way)):
            for found in under_way[i].collect(_WAIT):
                under_way[i] = pool.map("play", [(next(numbers), chunk)])
                yield found


def _missing(kept: ArrayFolder) -> Iterator[int]:
    """The numbers of chunks that are not there yet, without end."""
    there, number = set(kept.numbers()), 0
    while True:
        if number not in there:
            yield number
        number += 1


def _chunks(folder: Path, *, tidy: bool = True) -> ArrayFolder:
    return ArrayFolder(folder / "chunks", "delete it, and the same command plays it again", tidy=tidy)


def _games_of(arrays: dict[str, NDArray[Any]], about: dict[str, str]) -> ValueGames:
    return ValueGames(**arrays)


def _joined(chunks: list[ValueGames], games: int) -> ValueGames:
    """The first games of all chunks, end to end."""
    lengths = np.concatenate([np.diff(chunk.offsets) for chunk in chunks])[:games]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ValueGames(
        np.concatenate([chunk.moves for chunk in chunks])[: offsets[-1]],
        offsets,
        *(np.concatenate([getattr(chunk, name) for chunk in chunks])[:games] for name in ("komi", "margin", "digest")),
    )


# --------------------------------------------------------------------------------------------- games
# Many games go side by side; a game that ends makes room for the next, and all games that were begun are finished, so
# that long ones are not left out.


class ValuePlayer:
    """Plays the games."""

    def __init__(self, settings: PositionSettings) -> None:
        self._settings = settings
        self._players = tuple(_player(model) for model in (settings.policy, settings.rl))
        options = GoOptions(size=settings.size, rules=settings.rules, komi=settings.komi)
        self._game = batch_for(options, [player.encoder for player in self._players])

    def play(self, number: int, games: int) -> tuple[int, ValueGames]:
        """Chunk `number`: begin so many games; returns the number and those that last beyond their position.

        The same number gives the same games, whichever worker plays them.
        """
        rng = np.random.default_rng((self._settings.seed, number))
        play = PolicyPlay(self._game, self._players, seed=(self._settings.seed, number, 1))
        count = min(_SLOTS, games)
        slots = _Slots(self._game, self._settings, count, games, rng)

        def choose(_: int, running: NDArray[np.bool_]) -> NDArray[np.int64]:
            movers, at_random = slots.movers(running)
            before = np.where(movers == _SUPERVISED, movers, _NOBODY)
            after = np.where(movers == _REINFORCED, movers, _NOBODY)
            actions = play.choose(slots.boards, before)
            actions = np.maximum(actions, play.choose(slots.boards, after, self._settings.temperature))
            if len(at_random):
                actions[at_random] = slots.random_points(at_random)
            return slots.note(actions)

        for _ in play_in_lockstep(self._game, slots.boards, count, choose, slots.refill):
            pass
        return number, _join(slots.finished)


def _player(model: str) -> PolicyPlayer:
    evaluator, card = load_evaluator(model, "fastest")
    if card.game != "go" or not evaluator.architecture.policy:
        raise ValueError(f"{model} holds no policy for Go: it cannot play the games")
    return PolicyPlayer(get_encoder(card.encoder), evaluator)


class _Slots:
    """The games under way, each in a slot."""

    def __init__(self, game: Any, settings: PositionSettings, slots: int, games: int, rng: np.random.Generator) -> None:
        self._game, self._settings, self._rng, self._waiting = game, settings, rng, games
        self.boards = game.allocate(slots)
        self.finished: list[tuple[NDArray[np.uint16], float, float, int]] = []
        self._position = np.zeros(slots, np.int64)  # U: how many moves the position to learn from has
        self._ply = np.zeros(slots, np.int64)
        self._actions = np.zeros((slots, game.limit), np.uint16)
        self._legal = np.zeros((slots, game.actions), np.bool_)
        self._over, self._values = np.zeros(slots, np.bool_), np.zeros(slots, np.float32)
        self._begin(np.arange(slots))

    def movers(self, running: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[S]: who moves in each slot; and the slots in which a move is drawn at random."""
        before = self._ply < self._position - 1
        turn = np.where(before, _SUPERVISED, _REINFORCED)
        at_random = running & (self._ply == self._position - 1)
        return np.where(running & ~at_random, turn, _NOBODY), np.flatnonzero(at_random)

    def random_points(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """A legal point for each of these slots, all alike; -1 where there is none, or the game is over."""
        self._game.judge(self.boards, len(self._ply), self._legal, self._over, self._values)
        points = self._legal[index, :-1]
        drawn = np.where(points, self._rng.random(points.shape), -1.0)
        return np.where(points.any(axis=1), drawn.argmax(axis=1), -1)

    def note(self, actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Record these actions, int64[S], which are about to be played; -1: the game is over."""
        going = np.flatnonzero(actions >= 0)
        self._actions[going, self._ply[going]] = actions[going]
        self._ply[going] += 1
        return actions

    def refill(self, ended: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Finish the games in these slots, and begin others; returns in which slots there is one, bool[n]."""
        self._finish(ended[self._ply[ended] > self._position[ended]])
        return self._begin(ended)

    def _finish(self, ended: NDArray[np.int64]) -> None:
        if not len(ended):
            return
        margins, _ = self._game.score(self.boards, ended)
        colors = np.where(np.arange(self._game.limit) % 2, WHITE_BIT, 0).astype(np.uint16)
        for i, margin in zip(ended, margins):
            codes = (self._actions[i] | colors)[: self._ply[i]]
            komi = float(self.boards.komi[i])
            digest = digest_of(self._settings.size, np.array([int(2 * komi) & 0xFFFF], np.uint16), codes)
            self.finished.append((codes[: self._position[i] + 1].copy(), komi, float(margin), digest))

    def _begin(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Start games in these slots for as long as there are some to start; returns where, bool[n]."""
        used = index[: self._waiting]
        self._waiting -= len(used)
        self._game.restart(self.boards, used)
        self._game.vary(self.boards, used, self._settings.komi_spread, self._rng)
        self._position[used] = self._rng.integers(1, self._settings.last_move + 1, len(used))
        self._ply[used] = 0
        return np.arange(len(index)) < len(used)


def _join(games: list[tuple[NDArray[np.uint16], float, float, int]]) -> ValueGames:
    lengths = [len(codes) for codes, _, _, _ in games]
    return ValueGames(
        np.concatenate([codes for codes, _, _, _ in games]) if games else np.zeros(0, np.uint16),
        np.cumsum([0, *lengths], dtype=np.int64),
        np.array([komi for _, komi, _, _ in games], np.float32),
        np.array([margin for _, _, margin, _ in games], np.float32),
        np.array([digest for _, _, _, digest in games], np.uint64),
    )
