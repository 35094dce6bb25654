"""`tengen bench`: how fast this machine runs Tengen, as ratios to yardsticks measured in the same run."""

from pathlib import Path
from typing import Annotated

import typer

from tengen.cli.options import JsonFile, formerly, group

_FOLDER = Path(__file__).parent


def _print_machine(others: float | None) -> None:
    """On what the figures were measured, and beside how much other work."""
    from tengen._machine import cores, processor_name

    load = "" if others is None else f"; other programs took {others:.0%} of the machine meanwhile"
    typer.echo(f"{processor_name()}, {cores()} core{'' if cores() == 1 else 's'}{load}")


@formerly(json_file="json")
def engine(
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often each measure is taken; the best counts.")] = 3,
    yardsticks: Annotated[
        Path,
        typer.Option(
            help="Folder with playout.cpp, which g++ compiles for this machine.", show_default="benchmarks/yardsticks"
        ),
    ] = _FOLDER / "yardsticks",
    json_file: JsonFile = None,
) -> None:
    """Measure the Go engine on one core: playouts, search, and the Python API, per second of processor time.

    Every figure stands beside its yardsticks when they are there: the same playout in C++ (needs g++ and
    --yardsticks), OpenSpiel and sente (when installed). Machines are noisy, so everything is measured in
    turn, `--rounds` times, and the best round of each is compared.

    Example: tengen bench engine --rounds 5 --json-file engine.json
    """
    from benchmarks.engine import measure_engine, print_table, write_json

    report = measure_engine(rounds, yardsticks)
    print_table(report)
    if json_file is not None:
        write_json(report, json_file)


@formerly(json_file="json")
def data(
    folder: Annotated[Path, typer.Argument(metavar="DATASET", help="A dataset made by `tengen data build`.")],
    size: Annotated[int, typer.Option(help="Board size of the games to take.")] = 19,
    network: Annotated[str, typer.Option(help="The network to train.")] = "residual:blocks=6,filters=64",
    encoder: Annotated[str, typer.Option(help="The encoder to train with.")] = "alphago",
    positions: Annotated[int, typer.Option(min=256, help="Positions for each encoder and round.")] = 8192,
    steps: Annotated[int, typer.Option(min=1, help="Training steps for each round.")] = 10,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds; the best counts.")] = 3,
    json_file: JsonFile = None,
) -> None:
    """Measure how fast training data is made, and whether training has to wait for it.

    Each encoder replays, encodes and turns the same shuffled positions in one thread. Then a network is trained in
    turn from the dataset and on one batch that never changes; a ratio near 1 means that data comes for free.

    Example: tengen bench data datasets/kgs --rounds 5
    """
    from benchmarks.data import measure_encoders, measure_training, open_games, print_report, write_report

    games = open_games(folder, size)
    encoders = measure_encoders(games, positions, rounds)
    training = measure_training(games, network, encoder, steps, rounds)
    print_report(encoders, training)
    if json_file is not None:
        write_report(encoders, training, json_file)


@formerly(json_file="json")
def zero(
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often each measure is taken; the best counts.")] = 3,
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="How long each measure takes.")] = 5.0,
    peers: Annotated[
        str | None, typer.Option(metavar="PYTHON", help="An interpreter that has the peers; else this one is tried.")
    ] = None,
    yardsticks: Annotated[
        Path, typer.Option(help="Folder with the scripts that run the peers.", show_default="benchmarks/peers")
    ] = (_FOLDER / "peers"),
    json_file: JsonFile = None,
) -> None:
    """Measure self-play on one core, network included: simulations a second on 5x5 and on 9x9.

    Beside it, in turn in the same run, its peers where they are installed: mctx with pgx, and OpenSpiel's AlphaZero
    in Python. And how many positions a second the networks alone evaluate, by PyTorch, by OpenVINO in floats and in
    8-bit integers. Needs PyTorch (the train extra).

    Example: tengen bench zero --rounds 3 --peers ~/peers/bin/python --json-file zero.json
    """
    import sys

    from benchmarks.zero import measure_zero, print_tables, write_json

    report = measure_zero(rounds, seconds, peers or sys.executable, yardsticks)
    print_tables(report)
    if json_file is not None:
        write_json(report, json_file)


@formerly(json_file="json")
def alphago(
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often each measure is taken; the best counts.")] = 3,
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="How long each measure takes.")] = 3.0,
    json_file: JsonFile = None,
) -> None:
    """Measure AlphaGo's search on 9x9 and 19x19: rollouts and networks alone, and joined by one thread and by two.

    For the search it is shown how well the network's batches are filled, and which share of the threads' time goes to
    the network, to rollouts and to the rest. Two threads need two cores that nobody else uses.

    Example: tengen bench alphago --rounds 3 --json-file alphago.json
    """
    from benchmarks.alphago import measure_alphago, print_tables, write_json

    report = measure_alphago(rounds, seconds)
    print_tables(report)
    if json_file is not None:
        write_json(report, json_file)


@formerly(json_file="json")
def generations(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A run of `tengen learn generations`; untrained networks if not given."),
    ] = None,
    games: Annotated[int, typer.Option(min=2, help="Greedy games to play.")] = 16_384,
    searched: Annotated[int, typer.Option(min=2, help="Games by tree search to play.")] = 512,
    threads: Annotated[int, typer.Option(min=0, help="Threads that play; 0: one a core.")] = 0,
    json_file: JsonFile = None,
) -> None:
    """Measure how fast games of Simple-Go are made: at random, greedily, and by tree search with a value network.

    Each is compared with a target: 100,000 random games in 10 s, 250,000 greedy ones in 20 minutes, 0.4 s for a game by
    tree search with 100 trials a move. The Simple-Go lecture reports 3 to 5 hours and 40 s for the latter two.

    Example: tengen bench generations runs/simple-go-k3.5 --json-file generations.json
    """
    from benchmarks.generations import measure_generations, print_table, write_json
    from tengen._machine import cores

    report = measure_generations(run, games, searched, threads or cores())
    print_table(report)
    if json_file is not None:
        write_json(report, json_file)


def boards(
    rounds: Annotated[int, typer.Option(min=1, max=100, help="How often each is measured; the best counts.")] = 3,
    seconds: Annotated[float, typer.Option(min=0.1, help="Processor time of each measurement.")] = 1.0,
) -> None:
    """Measure the three boards of the course: what Zobrist hashing brings, and what compiled kernels bring."""
    from benchmarks.boards import measure_boards, print_boards

    sizes = (5, 9, 19)
    print_boards(sizes, measure_boards(sizes, seconds, rounds))


bench = group(
    "Measure speed, always as a ratio to yardsticks in the same run.",
    {"engine": engine, "boards": boards, "data": data, "zero": zero, "alphago": alphago, "generations": generations},
)


@bench.callback()
def _measured(context: typer.Context) -> None:
    from tengen._machine import MachineUse

    use = MachineUse()
    context.call_on_close(lambda: _print_machine(use.others()))
