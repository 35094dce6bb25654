"""How a value network with an outcome that never occurs comes to be NaN: the cross entropy as it is written on paper.

    python benchmarks/simple_go_collapse.py runs/simple-go-k3.5 --generation 3

White's network of the Simple-Go lecture learns from the games of a run that are on the disk, by Adam, from weights as
many tutorials draw them (truncated normal, 0.1), with the loss

    -sum y log(softmax(x))              in 32-bit floats, as on paper, and
    -sum y log_softmax(x)               as every library offers it.

There are no draws, so the score of the draw falls with every step. Some 103 below the highest one, its probability is 0
in 32-bit floats, y log p is 0 times minus infinity, and one step later all weights are NaN. Printed: the step at which
that happens, and how far the scores were apart on the way (the lowest being the draw's).
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from tengen.learn.generation_games import GenerationFolder
from tengen.learn.generations import PositionsAfter, network_config
from tengen.learn.settings import GenerationsConfig
from tengen.nets.network import Network, build_network
from tengen.nets.registry import parse_network


def main() -> None:
    """Train with both losses, and tell how it goes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the directory of a run of `tengen learn generations`")
    parser.add_argument("--generation", type=int, required=True, help="whose games, which must be on the disk")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rate", type=float, default=0.001)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--every", type=int, default=2_000, help="steps between two lines")
    given = parser.parse_args()
    torch.set_num_threads(1)
    config = GenerationsConfig.read(given.run)
    number = given.generation
    folder = given.run / "games" / f"{number:02d}"
    games = GenerationFolder(folder, config.first_games if number == 1 else config.games).read()
    positions = PositionsAfter(config.spec(), games, "second", test=False)
    name, arguments = parse_network(network_config(config, "second").network)
    spec = config.spec()
    for seed in range(1, given.seeds + 1):
        for loss in (as_on_paper, as_in_libraries):
            network = build_network(name, spec.encoder.planes, spec.batch.height, seed=seed, **arguments)
            draw_weights(network, seed)
            train(network, positions, loss, seed, given)


def train(network: Network, positions: PositionsAfter, loss_of, seed: int, given: argparse.Namespace) -> None:  # type: ignore[no-untyped-def]
    """Until the loss is NaN, or all steps are done."""
    optimizer = torch.optim.Adam(network.parameters(), lr=given.rate)
    widest, title = 0.0, f"seed {seed}, {loss_of.__name__.replace('_', ' ')}"
    for step in range(1, given.steps + 1):
        batch = positions.read(*positions.shuffled(step * given.batch, given.batch, seed))
        scores = network(torch.from_numpy(batch.planes)).outcome
        loss = loss_of(scores, functional.one_hot(torch.from_numpy(batch.outcomes), 3).float())
        with torch.no_grad():
            apart = scores.max(dim=1).values - scores.min(dim=1).values
            widest = max(widest, float(apart.max()))
            lowest = float((scores.argmin(dim=1) == 2).float().mean())
        if step % given.every == 0 or not loss.isfinite():
            far = f"apart {float(apart.mean()):.1f}, at most {widest:.1f} so far; the draw is lowest in {lowest:.0%}"
            print(f"{title}: step {step:,}, loss {float(loss.detach()):.4f}, {far}", flush=True)
        if not loss.isfinite():
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def as_on_paper(scores: Tensor, wanted: Tensor) -> Tensor:
    """-sum y log p."""
    return -(wanted * scores.softmax(dim=1).log()).sum(dim=1).mean()


def as_in_libraries(scores: Tensor, wanted: Tensor) -> Tensor:
    """The same without ever computing a probability."""
    return -(wanted * scores.log_softmax(dim=1)).sum(dim=1).mean()


def draw_weights(network: Network, seed: int) -> None:
    """Truncated normal with a deviation of 0.1, and biases of 0.1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in network.parameters():
            if weights.ndim > 1:
                nn.init.trunc_normal_(weights, 0.0, 0.1, -0.2, 0.2, generator=generator)
            else:
                weights.fill_(0.1)


if __name__ == "__main__":
    main()
