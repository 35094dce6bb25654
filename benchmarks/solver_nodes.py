"""How many nodes the solver needs to prove that Black wins: 5x5 Simple-Go at komi 3.5, positions of strong play.

    python benchmarks/solver_nodes.py --limit 600000
    python benchmarks/solver_nodes.py --stones 8 --limit 4000000 --leaf-nodes 50000 --guide value:runs/simple-go-k3.5

The positions have 8 to 11 stones. Black plays by a value network of the fifth generation, White too, but for four
random moves in ten. Node counts do not depend on the machine, but with several threads or workers on
who is first: compare the sums before and after a change of `solve/dfpn.py`.
"""

import argparse
import math

from tengen.agents.registry import load_agent
from tengen.games import go
from tengen.solve.go_solver import Claim, Solver
from tengen.solve.proof_tree import ProofTree, leaf_workers
from tengen.workers.local import ProcessWorkers, this_machine

POSITIONS = [
    "C3 C4 D4 D3 D2 B3 C2 E1 B4 A5 C5 B2",
    "C3 E3 C2 C4 D4 C1 B4 B2 B3 A5 D3",
    "C3 C4 D4 D3 D2 B4 B3 D5 E3 A3 B2 E4",
    "C3 C4 D4 D3 D2 B3 C2 B2 B4 A1 C5 A4",
    "C3 C4 D4 B3 B2 A3 D3 A1 C2 D5 B4",
    "C3 D2 C2 D3 D4 C4 B4 C5 D1 A3 E4",
    "C3 A5 C4 C2 D2 B2 B3 B5 D3 A3",
    "C3 C4 D4 E3 D3 A4 B3 B1 B4 E5",
    "C3 D2 C2 D3 D4 D5 C4 C1 B2 E2",
    "C3 A1 C2 C4 D4 B4 B3 D3 D2 E4",
    "C3 C4 D4 D3 D2 B3 C2 B2 B4 A4",
    "C3 C4 D4 A5 B3 B1 D3 B4 A3 C5",
    "C3 C4 D4 D3 D2 B3 C2 B2 B4",
    "C3 C4 D4 D3 D2 C2 E3 C5 B3 B2",
    "C3 C4 D4 E5 B3 D3 D2 A3 B4",
    "C3 C4 D4 B1 B3 A1 D3 B4 A3",
    "C3 C4 D4 B5 B3 A1 D3 B2 C2",
    "C3 C4 D4 D3 D2 A2 B3 A3 B4",
    "C3 C4 D4 D3 D2 B3 C2 B4",
    "C3 C4 D4 A1 B3 B4 D3 D1",
    "C3 C4 D4 D3 D2 B3 C2 B2",
    "C3 E5 D3 B3 B4 C1 C4 C2",
    "C3 D2 C2 A5 C4 D3 D4 E5",
    "C3 E1 C2 C4 D4 B4 B3 E3",
]


def main() -> None:
    """Count the nodes of each position."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=600_000, help="nodes for a position at most")
    parser.add_argument("--stones", type=int, nargs="+", default=[10, 11], help="which positions, by their stones")
    parser.add_argument("--leaf-nodes", type=int, help="of a tree of searches; without it, dfpn alone")
    parser.add_argument("--guide", help="the agent that guides the tree")
    parser.add_argument("--threads", type=int, default=1, help="which search leaves, with one table")
    parser.add_argument("--workers", type=int, help="processes in place of threads, as on a cluster, a table each")
    given = parser.parse_args()
    agent = load_agent(given.guide, 1) if given.guide else None
    counts = []
    for moves in POSITIONS:
        state = go.State.new(5, "simple-go", komi=3.5)
        for word in moves.split():
            state = state.play(state.parse_move(word))
        stones = int((state.stones != go.EMPTY).sum())
        if stones in given.stones:
            solver, claim = Solver(5, state.rules, memory=0.2), Claim(go.BLACK, 4)
            if given.leaf_nodes:
                guide = (lambda position: agent.choose(position).values) if agent else None
                tree = ProofTree(solver, state, claim, guide)
                factory, count = (ProcessWorkers, given.workers) if given.workers else (this_machine, given.threads)
                with leaf_workers(factory, count, solver) as workers:
                    list(tree.search(workers, given.leaf_nodes, given.limit))
                found = tree.verdict
            else:
                found = solver.prove(state, claim, nodes=given.limit)
            counts.append(solver.nodes)
            print(f"{stones} stones, {found!s:5} {solver.nodes:>10,}  {moves}", flush=True)
    mean = math.exp(sum(map(math.log, counts)) / len(counts))
    print(f"sum {sum(counts):,}, geometric mean {mean:,.0f}")


if __name__ == "__main__":
    main()
