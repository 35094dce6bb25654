"""How many points the moves of strong players seem to cost: the mean over records, which shows a bias of the score.

A score that favours whose turn it is (or the opponent) adds the same to the loss of every move. With `--make` the
records are games that two agents of Tengen play first.

    python benchmarks/point_losses.py --make 50 --out build/games            # 50 games by alphago:alphago9
    python benchmarks/point_losses.py build/games/*.sgf --agent zero:go9 --agent uct --visits 100
"""

import argparse
import math
from itertools import pairwise
from pathlib import Path

import numpy as np

import tengen
from tengen.agents.analysis import Analysis, Analyst
from tengen.games.go.sgf import read_sgf, write_sgf
from tengen.serve.review import review


def main() -> None:
    """Print a line per agent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="*", type=Path)
    parser.add_argument("--agent", action="append", default=[])
    parser.add_argument("--visits", type=int, default=100)
    parser.add_argument(
        "--own-every", type=int, default=0, help="in every so many positions, the agent's own move, too"
    )
    parser.add_argument("--make", type=int, default=0, help="play so many games instead")
    parser.add_argument("--player", default="alphago:alphago9,sims=400,temperature=0.3")
    parser.add_argument("--out", type=Path, default=Path("build/games"))
    given = parser.parse_args()
    if given.make:
        make_games(given.player, given.make, given.out)
    for spec in given.agent:
        agent = tengen.load_agent(spec, seed=1)
        if not isinstance(agent, Analyst):
            raise SystemExit(f"{spec} does not analyse")
        if given.own_every:
            every = given.own_every
            pairs = [pair for path in given.records for pair in own_and_played(agent, path, given.visits, every)]
            print(summary(f"{spec}, its own move", [own for own, _ in pairs]), flush=True)
            print(summary(f"{spec}, the move played", [played for _, played in pairs]), flush=True)
            continue
        losses = [loss for path in given.records for loss in losses_of(agent, path, given.visits)]
        print(summary(spec, losses), flush=True)


def make_games(player: str, games: int, out: Path) -> None:
    """Let an agent play itself on 9x9, komi 7, and write the records."""
    out.mkdir(parents=True, exist_ok=True)
    for number in range(games):
        agent = tengen.load_agent(player, seed=number)
        outcome = tengen.play_game(agent, agent, tengen.go.State.new(size=9, komi=7))
        (out / f"{number:03}.sgf").write_bytes(write_sgf(outcome.state))


def losses_of(agent: Analyst, record: Path, visits: int) -> list[float]:
    """What each move of a game cost the player who made it, by the scores of the positions before and after."""
    *_, found = review(agent, read_sgf(record.read_bytes()).state, visits)
    return found.point_losses()


def own_and_played(agent: Analyst, record: Path, visits: int, every: int) -> list[tuple[float, float]]:
    """In every so many positions, what the agent's own best move costs by its scores, and what the played one does."""

    def score_of(state: tengen.go.State) -> Analysis:
        *_, last = agent.analyse(state, visits=visits, interval=math.inf)
        return last

    states: list[tengen.go.State] = []
    here: tengen.go.State | None = read_sgf(record.read_bytes()).state
    while here is not None:
        states.insert(0, here)
        here = here.previous
    found = []
    for before, after in list(pairwise(states))[3::every]:
        known = score_of(before)
        if after.is_over or not known.moves or min(known.moves[0].move, after.last_move or 0) < 0:
            continue
        scores = [score_of(state).score for state in (before.play(known.moves[0].move), after)]
        if known.score is not None and None not in scores:
            found.append((known.score + scores[0], known.score + scores[1]))  # type: ignore[operator]
    return found


def summary(spec: str, losses: list[float]) -> str:
    """Mean with its 95% interval, and the spread."""
    mean, spread = float(np.mean(losses)), float(np.std(losses))
    error = 1.96 * spread / math.sqrt(len(losses))
    return f"{spec:28} {len(losses):5} moves  mean loss {mean:6.2f} ± {error:.2f}  standard deviation {spread:5.2f}"


if __name__ == "__main__":
    main()
