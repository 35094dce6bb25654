"""Checks for a game, an encoder, a network or a player of your own: what Tengen's own are held to.

Each raises an AssertionError that says what does not fit, so a test is one line:

    def test_othello():
        tengen.testing.check_game(tengen.get_game("othello"))

>>> import tengen
>>> tengen.testing.check_agent("random", "tictactoe")
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tengen.agents.own import AgentLike, own_agent
from tengen.agents.registry import load_agent
from tengen.encode import encoder_names
from tengen.encode.encoder import Encoder
from tengen.encode.game_spec import GameSpec
from tengen.games.batch import BatchedGame
from tengen.games.game import AnyGame, Record, game_of, get_game
from tengen.games.kernels import kernel, key, playout
from tengen.games.state import FIRST, RESIGN, SECOND, Options, other_player

__all__ = ["check_agent", "check_encoder", "check_game", "check_network"]


def check_game(game: AnyGame | str, **options: Any) -> None:
    """All that a game promises: states, kernels that agree with them, keys, playouts, symmetries, records.

    >>> import tengen
    >>> tengen.testing.check_game("tictactoe")
    """
    game = get_game(game) if isinstance(game, str) else game
    given = game.options.of(options)
    for check in GAME_CHECKS:
        check(game, given)


def check_encoder(encoder: Encoder | str, **options: Any) -> None:
    """That an encoder's planes are the same from arrays and from states, and no larger than it says.

    >>> import tengen
    >>> tengen.testing.check_encoder("simple", size=5)
    """
    name = encoder if isinstance(encoder, str) else encoder.name
    from tengen.encode import get_encoder

    spec = GameSpec(get_game(get_encoder(name).game).options.of(options), name)
    states = random_game(spec.game, spec.options, 5, 30)
    games = spec.batch.allocate(1)
    _check(
        len(spec.encoder.meanings) == spec.encoder.planes,
        f"{name} has {spec.encoder.planes} planes, give each a meaning",
    )
    for number, state in enumerate(states):
        planes = np.full((2, *spec.shape), 77, np.uint8)
        spec.encoder.encode_games(games, 1, planes)
        again = spec.encoder.encode([state])
        _check((planes[1] == 77).all(), f"{name} writes to more games than it is asked for")
        _check(np.array_equal(planes[:1], again), f"the planes of {name} differ from arrays and from states:\n{state}")
        _check(int(planes[0].max()) <= spec.encoder.largest, f"{name} has larger numbers than {spec.encoder.largest}")
        if number + 1 < len(states):
            spec.batch.play(games, np.array([state.action_of(states[number + 1].last_move)]))


def check_network(network: str, game: AnyGame | str = "go", encoder: str = "", **options: Any) -> None:
    """That a network trains, and that it computes the same when it plays. Needs torch.

    >>> import tengen
    >>> tengen.testing.check_network("residual:blocks=1,filters=8,value=yes", "go", size=5)
    """
    import torch

    from tengen.nets.evaluator import load_model
    from tengen.nets.model_file import ModelCard, save_model
    from tengen.nets.network import build_network
    from tengen.nets.registry import parse_network

    game = get_game(game) if isinstance(game, str) else game
    spec = GameSpec(game.options.of(options), encoder)
    name, arguments = parse_network(network)
    planes, height, width = spec.shape
    made = build_network(name, planes, height, width=width, actions=spec.batch.actions, seed=1, **arguments)
    seen = spec.encoder.encode([state for state in random_game(game, spec.options, 1, 20) if not state.is_over])
    made.train()
    outputs = [output for output in made(torch.from_numpy(seen)) if output is not None and output.requires_grad]
    loss = torch.stack([output.square().mean() for output in outputs]).sum()
    torch.autograd.backward(loss)
    idle = [name for name, weight in made.named_parameters() if weight.grad is None]
    _check(not idle, f"{network} has weights that no output depends on: {', '.join(idle)}")
    made.eval()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = Path(folder) / "model.safetensors"
        save_model(path, made, ModelCard.of(made, encoder=spec.encoder.name, game=game.name, rules=""))
        played = load_model(path, backend="openvino").evaluator.evaluate(seen)
        learned = made(torch.from_numpy(seen), to_play=True)
    for one, other in zip(played, learned):
        _check((one is None) == (other is None), f"{network} has other heads when it plays than when it learns")
        if one is not None:
            far = float(np.abs(one - other.numpy()).max())
            _check(far < 1e-3, f"{network} computes other numbers when it plays than when it learns, by {far:.3g}")


def check_agent(agent: AgentLike, game: AnyGame | str = "go", games: int = 1, **options: Any) -> None:
    """That an agent plays legal moves through whole games, against random moves and with both colours.

    >>> import tengen
    >>> tengen.testing.check_agent(lambda state: state.legal_moves()[0], "tictactoe")
    """
    from tengen.arena.game import play_game

    game = get_game(game) if isinstance(game, str) else game
    start = game.new(game.options.of(options))
    player = load_agent(agent, 1) if isinstance(agent, str) else own_agent(agent)
    other = load_agent("random", 1)
    try:
        for _ in range(games):
            for colour, pair in ((FIRST, (player, other)), (SECOND, (other, player))):
                record = play_game(*pair, start)
                lost = record.ending == "forfeit" and record.winner != colour
                _check(not lost, f"{player.name} forfeits as {game.players[colour - 1]}: {record.reason}")
    finally:
        player.close()


# ------------------------------------------------------------------------------------- what a game promises


def random_game(game: AnyGame, options: Options, seed: int, longest: int = 150) -> list[Any]:
    """All positions of a random game, or of its beginning."""
    rng, states = np.random.default_rng(seed), [game.new(options)]
    while not states[-1].is_over and len(states) < longest:
        states.append(states[-1].play(int(rng.choice(states[-1].legal_moves()))))
    return states


def states_keep_their_promises(game: AnyGame, options: Options) -> None:
    """Players alternate, games end, moves have names, resigning loses."""
    for seed in range(5):
        states = random_game(game, options, seed)
        for number, state in enumerate(states):
            _check((state.game, state.move_number) == (game.name, number), f"game or move_number is wrong:\n{state}")
            mover = FIRST if number % 2 == 0 else SECOND
            _check(state.to_play == mover, f"players have to alternate: let one pass who must\n{state}")
            _check(
                (state.previous is None) == (state.last_move is None) == (number == 0), "previous or last_move is wrong"
            )
            moves = state.legal_moves()
            _check(moves or state.is_over, f"nothing is legal and the game not over: let them pass, or end it\n{state}")
            _check(not (moves and state.is_over), f"the game is over, and {moves} are still legal\n{state}")
            _check(all(state.why_illegal(move) is None for move in moves), f"legal moves are refused\n{state}")
            _check(
                [state.parse_move(state.move_name(move)) for move in moves] == moves, f"names of moves differ\n{state}"
            )
            _check([state.move_of(state.action_of(move)) for move in moves] == moves, f"actions differ\n{state}")
            running = (state.winner() is None, state.result() == "?", state.end_reason is None)
            _check(running == (not state.is_over,) * 3, f"winner, result or end_reason is wrong\n{state}")
    resigned = states[0].play(RESIGN)
    _check(resigned.is_over and resigned.winner() == other_player(FIRST), "resigning has to lose the game")


def arrays_agree_with_states(game: AnyGame, options: Options) -> None:
    """Games in arrays are those of friendly states, over whole games, beside games that stand still."""
    batch, rng, count = game.batch(options), np.random.default_rng(1), 8
    start = game.new(options)
    games, states, ended = batch.allocate(count), [start] * count, 0
    for _ in range(150):
        same(batch, games, states)
        over = np.array([state.is_over for state in states])
        ended += int(over.sum())
        batch.restart(games, np.flatnonzero(over))
        states = [start if state.is_over else state for state in states]
        actions = np.full(count, -1, np.int64)
        for i, state in enumerate(states):
            if rng.random() < 0.8:  # the others are left alone for once
                move = int(rng.choice(state.legal_moves()))
                actions[i], states[i] = state.action_of(move), state.play(move)
        batch.play(games, actions)
    _check(ended > 0, "no random game ends within 150 moves: check with options for shorter games")


def arrays_remember_all(game: AnyGame, options: Options) -> None:
    """Games are loaded, copied and followed with all that the rules look at."""
    batch, states = game.batch(options), random_game(game, options, 3, 60)
    same(batch, _loaded(batch, states), states)
    middle = len(states) // 2
    actions = [before.action_of(after.last_move) for before, after in zip(states[middle:], states[middle + 1 :])]
    roots, leaves = batch.allocate(2), batch.allocate(len(actions) + 1)
    batch.copy(_loaded(batch, states), np.array([middle]), roots, np.array([1]))
    lengths = np.arange(len(actions) + 1)
    paths = np.tile(np.array(actions, np.int16), (len(lengths), 1))
    batch.follow(roots, np.ones_like(lengths), paths, lengths, leaves)
    same(batch, leaves, states[middle:])
    same(batch, roots, [states[0], states[middle]])


def keys_tell_positions_apart(game: AnyGame, options: Options) -> None:
    """Positions after one move have keys of their own, however they were reached."""
    batch = game.batch(options)
    for state in random_game(game, options, 4, 40)[:-1:3]:
        children = [state.play(move) for move in state.legal_moves()]
        games = _loaded(batch, [state, *children])
        keys = [_key_of(games, i) for i in range(len(children) + 1)]
        _check(len(set(keys)) == len(keys), f"two of these have the same key:\n{state}")
        again = _loaded(batch, [state] * len(children))
        batch.play(again, np.array([state.action_of(move) for move in state.legal_moves()]))
        _check(
            [_key_of(again, i) for i in range(len(children))] == keys[1:],
            f"keys depend on more than the position\n{state}",
        )


def playouts_end(game: AnyGame, options: Options) -> None:
    """Random games end, and not all alike."""
    batch, state, values = game.batch(options), np.uint64(2463534242), set[float]()
    for _ in range(50):
        after, value = _play_out(batch.allocate(1), 0, np.zeros(batch.actions, np.bool_), state)
        state = np.uint64(after)
        values.add(float(value))
    _check(values <= {-1.0, 0.0, 1.0}, f"a game is worth -1, 0 or 1, not {values}")
    _check(len(values) > 1, "every random game ends alike")


def symmetries_are_symmetric(game: AnyGame, options: Options) -> None:
    """Games that begin with symmetric moves look and go on symmetrically."""
    points, actions = game.symmetries(options)
    spec, rng = GameSpec(options, encoder_names(game.name)[0]), np.random.default_rng(6)
    batch, count = spec.batch, len(points)
    for table, length in ((points, batch.height * batch.width), (actions, batch.actions)):
        _check(table.shape == (count, length), "a symmetry orders all squares, and all actions: is a pass among them?")
        _check((np.sort(table, axis=1) == np.arange(length)).all(), "a symmetry is no order of squares or actions")
        _check((table[0] == np.arange(length)).all(), "symmetry 0 has to change nothing")
    games = batch.allocate(count)
    for _ in range(30):
        legal, over, values = _evaluated(batch, games, count)
        planes = np.zeros((count, *spec.shape), np.uint8)
        spec.encoder.encode_games(games, count, planes)
        flat = planes.reshape(count, spec.encoder.planes, -1)
        for k in range(count):
            _check(np.array_equal(flat[k], flat[0][:, points[k]]), f"symmetry {k}: the start must be symmetric too")
            _check(np.array_equal(legal[k], legal[0][actions[k]]), f"symmetry {k}: other moves are legal")
        _check(len(set(over.tolist())) == len(set(values.tolist())) == 1, "symmetric games end differently")
        if over[0]:
            break
        action = rng.choice(np.flatnonzero(legal[0]))
        batch.play(games, np.array([int(np.flatnonzero(row == action)[0]) for row in actions]))


def records_and_options_come_back(game: AnyGame, options: Options) -> None:
    """Options and records are read as they were written, and positions are shown."""
    _check(game.options.of(options.settings()) == options, f"{options} are not what their own settings give")
    start = game.new(options)
    _check(str(game.new(game.options_of(start))) == str(start), "options_of gives another game")
    _check(game_of(start) is game, f"{game.name} is not the game that is registered by this name")
    _check(bool(game.describe(options)), "describe says nothing")
    for state in (random_game(game, options, 7)[-1], random_game(game, options, 8, 7)[-1]):
        read, result = game.read(game.write(state, Record(first="Ada", second="Bo", comments={1: "good"})))
        _check(
            str(read) == str(state) and read.move_number == state.move_number,
            f"a record reads otherwise\n{state}\n{read}",
        )
        _check(not state.is_over or result == state.result(), f"a record has the result {result}, not {state.result()}")
    for state in random_game(game, options, 23)[:-1]:
        names = [game.notation(state, move) for move in state.legal_moves()]
        _check([state.parse_move(name) for name in names] == state.legal_moves(), f"records name other moves\n{state}")
    after = start.play(start.parse_move(game.example_move))
    _check(str(start) != str(after) and game.picture(start).startswith("<svg"), "positions are not shown")


def a_tree_search_plays_it(game: AnyGame, options: Options) -> None:
    """Monte-Carlo tree search finds a legal move."""
    agent, state = load_agent("mcts:playouts=16", seed=1), game.new(options)
    _check(agent.choose(state).move in state.legal_moves(), "mcts chooses a move that is not legal")
    _check(bool(game.default_agent), "the game has no default_agent")


GAME_CHECKS: Final[tuple[Callable[[AnyGame, Options], None], ...]] = (
    states_keep_their_promises,
    arrays_agree_with_states,
    arrays_remember_all,
    keys_tell_positions_apart,
    playouts_end,
    symmetries_are_symmetric,
    records_and_options_come_back,
    a_tree_search_plays_it,
)


def same(batch: BatchedGame, games: Any, states: list[Any]) -> None:
    """That games in arrays are those of friendly states: legal moves, who is to move, who has won."""
    legal, over, values = _evaluated(batch, games, len(states))
    _check(batch.to_play(games).tolist() == [state.to_play for state in states], "arrays have another player to move")
    _check(over.tolist() == [state.is_over for state in states], "arrays and states end at different moments")
    for state, row, value in zip(states, legal, values):
        known = sorted(map(state.action_of, state.legal_moves()))
        _check(sorted(np.flatnonzero(row).tolist()) == known, f"other moves are legal in arrays:\n{state}")
        winner = state.winner()
        _check(
            value == (0 if not winner else 1 if winner == state.to_play else -1),
            f"arrays have another winner:\n{state}",
        )


def _loaded(batch: BatchedGame, states: list[Any]) -> Any:
    games = batch.allocate(len(states))
    for i, state in enumerate(states):
        batch.load(games, i, state)
    return games


def _evaluated(batch: BatchedGame, games: Any, count: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    legal, over, values = np.ones((count, batch.actions), np.bool_), np.ones(count, np.bool_), np.ones(count, "f4")
    batch.judge(games, count, legal, over, values)
    return legal, over, values


def _check(holds: object, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


@kernel
def _key_of(games, i):  # type: ignore[no-untyped-def]
    return key(games, i)


@kernel
def _play_out(games, i, legal, state):  # type: ignore[no-untyped-def]
    return playout(games, i, legal, state)
