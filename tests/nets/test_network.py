"""Networks have the shapes, sizes and gradients that they should, and the same seed makes the same one."""

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch

from tengen.nets.layers import ACTIVATIONS
from tengen.nets.network import build_network
from tengen.nets.registry import NetworkSpecError, describe_network, network_kinds, parse_network

from .networks import BOARDS, SPECS


@pytest.mark.parametrize("size", [5, 9, 19])
@pytest.mark.parametrize("spec", SPECS)
def test_every_network_gives_logits_for_every_move_and_learns_everywhere(spec: str, size: int) -> None:
    name, arguments = parse_network(spec)
    network = build_network(name, 3, size, seed=1, **arguments)
    planes = torch.rand(4, 3, size, size, generator=torch.Generator().manual_seed(1))
    policy, value, ownership, score, outcome = network(planes)
    assert policy.shape == (4, size * size + 1)
    always = ("microchess-lecture", "alphago-value", "simple-go")
    assert (value is not None) == bool(arguments.get("value") or name in always)
    assert (ownership is not None) == bool(arguments.get("ownership"))
    assert (score is not None) == bool(arguments.get("score"))
    loss = torch.nn.functional.cross_entropy(policy, torch.tensor([0, 1, size, size * size]))
    if value is not None:
        assert value.shape == (4,)
        assert value.detach().abs().max() < 1
        loss = loss + value.square().mean()
    if outcome is not None:
        assert outcome.shape == (4, 3)
    if ownership is not None:
        assert ownership.shape == (4, size * size)
        assert ownership.detach().abs().max() < 1
        loss = loss + ownership.square().mean()
    if score is not None:
        assert score.shape == (4,)
        loss = loss + score.square().mean()
    loss.backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    assert all(parameter.grad.isfinite().all() for parameter in network.parameters() if parameter.grad is not None)


@pytest.mark.parametrize(("size", "width", "actions"), BOARDS)
@pytest.mark.parametrize("spec", [spec for spec in SPECS if not spec.startswith("alphago")])
def test_every_network_but_alphago_reads_any_board_and_speaks_any_policy(
    spec: str, size: int, width: int, actions: int | None
) -> None:
    name, arguments = parse_network(spec)
    network = build_network(name, 3, size, width=width, actions=actions, seed=1, **arguments)
    architecture = network.architecture
    assert (architecture.size, architecture.width) == (size, width)
    output = network(torch.rand(4, 3, size, width))
    assert output.policy.shape == (4, actions or size * width + 1)
    if output.ownership is not None:
        assert output.ownership.shape == (4, size * width)
    (output.policy if output.outcome is None else output.outcome).logsumexp(1).sum().backward()
    assert architecture.parameters() == sum(parameter.numel() for parameter in network.parameters())


def test_old_names_are_understood() -> None:
    old = parse_network("seed-microchess:layers=2")
    assert old == parse_network("microchess-lecture:layers=2") == ("microchess-lecture", {"layers": 2})
    assert describe_network("seed-microchess", 3, 5) == describe_network("microchess-lecture", 3, 5)


def test_alphago_is_for_go() -> None:
    with pytest.raises(NetworkSpecError, match="a logit a point and one for passing, 21, not 436"):
        describe_network("alphago", 3, 5, width=4, actions=436)
    assert describe_network("alphago", 3, 5, width=4).actions == 21


def test_playing_leaves_out_the_heads_to_learn_from() -> None:
    network = build_network("residual", 3, 5, seed=1, blocks=1, filters=4, value=True, ownership=True, score=True)
    planes = torch.rand(2, 3, 5, 5)
    everything, played = network.eval()(planes), network(planes, to_play=True)
    assert everything.ownership is not None and everything.score is not None
    assert played.ownership is None and played.score is None
    assert torch.equal(played.policy, everything.policy) and torch.equal(played.value, everything.value)


@pytest.mark.parametrize(("after", "signs"), [("first", (-1, -1)), ("second", (1, 1)), ("both", (1, -1))])
def test_the_value_of_an_outcome_is_that_of_the_player_to_move(after: str, signs: tuple[int, int]) -> None:
    """After the first player's moves the second is to move; a network for both sees it in its last plane."""
    network = build_network("simple-go", 4, 5, seed=1, after=after).eval()
    planes = torch.randint(0, 2, (2, 4, 5, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    planes[0, 3], planes[1, 3] = 1, 0
    output = network(planes)
    chances = output.outcome.softmax(dim=1)
    wanted = torch.tensor(signs) * (chances[:, 0] - chances[:, 1])
    assert torch.allclose(output.value, wanted, atol=1e-6) and output.value.abs().min() > 0


def test_the_network_of_the_simple_go_lecture() -> None:
    described = describe_network("simple-go", 3, 5, after="first")
    convolutions = 3 * 30 * 9 + 30 + 30 * 50 * 9 + 50 + 50 * 70 * 9 + 70
    assert described.parameters() == convolutions + 70 * 25 * 100 + 100 + 100 * 3 + 3
    with pytest.raises(NetworkSpecError, match="after is 'nobody': choose from first, second, both"):
        describe_network("simple-go", 3, 5, after="nobody")


def test_the_state_of_the_game_joins_after_the_convolutions() -> None:
    """A change of a constant plane changes the judgement, and none of the convolutions sees it."""
    network = build_network("microchess-lecture", 14, 5, width=4, actions=436, seed=1).eval()
    seen: list[tuple[int, ...]] = []
    for module in network.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_hook(lambda module, inputs, output: seen.append(tuple(inputs[0].shape)))
    planes = torch.randint(0, 2, (1, 14, 5, 4)).float()
    planes[:, 12:] = 0
    castling = planes.clone()
    castling[:, 12] = 1
    without, having = network(planes), network(castling)
    assert not torch.equal(without.policy, having.policy)
    assert not torch.equal(without.value, having.value)
    assert seen == [(1, 12, 5, 4), *[(1, 64, 5, 4)] * 5] * 2
    convolutions = 12 * 64 * 9 + 64 + 5 * (64 * 64 * 9 + 64)
    dense = (64 * 20 + 2) * 1024 + 1024 + 1024 * 436 + 436 + 1024 + 1
    assert network.architecture.parameters() == convolutions + dense


@pytest.mark.parametrize("name", network_kinds())
def test_a_few_steps_of_training_fit_a_few_positions(name: str) -> None:
    slim = {"small": "filters=16-8,dense=64", "medium": "filters=16-8,dense=64", "large": "filters=16-8,dense=64"}
    slim |= {"alphago": "layers=4,filters=16", "alphago-value": "layers=4,filters=16,hidden=32"}
    slim |= {"residual": "blocks=2,filters=16,head_filters=8"}
    slim |= {"microchess-lecture": "layers=2,filters=16,dense=64,state_planes=1", "simple-go": "filters=16-8,hidden=32"}
    network = build_network(name, 2, 5, seed=1, **parse_network(f"{name}:{slim[name]}")[1])
    generator = torch.Generator().manual_seed(1)
    planes = torch.randint(0, 2, (16, 2, 5, 5), dtype=torch.uint8, generator=generator)
    moves = torch.randint(0, 26, (16,), generator=generator)
    results = torch.randint(0, 2, (16,), generator=generator) * 2.0 - 1.0
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        output = network(planes)
        if network.policy is None:
            loss = (output.value - results).square().mean()
        else:
            loss = torch.nn.functional.cross_entropy(output.policy, moves)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] < math.log(26) * 1.5  # a fresh network is nearly indifferent
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("spec", SPECS)
def test_the_description_names_exactly_what_pytorch_holds(spec: str) -> None:
    name, arguments = parse_network(spec)
    network = build_network(name, 3, 9, **arguments)
    held = {key: tuple(tensor.shape) for key, tensor in network.state_dict().items() if "num_batches" not in key}
    assert network.architecture.shapes() == held
    assert network.architecture.parameters() == sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(
    ("spec", "planes", "parameters"),
    [
        ("small", 11, 6_216_458),
        ("medium", 11, 6_436_426),
        ("large", 11, 12_938_346),
        ("alphago", 48, 3_883_178),
        ("alphago-value", 49, 4_312_130),
        ("residual", 48, 523_042),
        ("residual:filters=32", 11, 121_410),
    ],
)
def test_the_documented_sizes(spec: str, planes: int, parameters: int) -> None:
    name, arguments = parse_network(spec)
    assert describe_network(name, planes, 19, **arguments).parameters() == parameters


def test_small_and_alphago_count_as_their_sources_say() -> None:
    small = 11 * 48 * 49 + 48 + 48 * 32 * 25 + 32 + 2 * (32 * 32 * 25 + 32) + 32 * 361 * 512 + 512 + 512 * 362 + 362
    assert describe_network("small", 11, 19).parameters() == small
    paper = 48 * 192 * 25 + 192 + 11 * (192 * 192 * 9 + 192) + 192 + 361
    our_pass = 2 * 192 + 1
    assert describe_network("alphago", 48, 19).parameters() == paper + our_pass
    convolutions = 49 * 192 * 25 + 192 + 12 * (192 * 192 * 9 + 192) + 192 + 1
    assert describe_network("alphago-value", 49, 19).parameters() == convolutions + 361 * 256 + 256 + 256 + 1


def test_a_value_network_has_no_opinion_about_moves() -> None:
    network = build_network("alphago-value", 3, 5, seed=1, layers=2, filters=8)
    output = network(torch.rand(4, 3, 5, 5))
    assert network.architecture.policy == () and network.policy is None
    assert torch.equal(output.policy, torch.zeros(4, 26))
    assert output.value is not None and output.value.detach().std() > 0


@pytest.mark.parametrize("seed", range(20))
def test_a_value_network_is_alive_whatever_its_first_weights(seed: int) -> None:
    network = build_network("alphago-value", 3, 9, seed=seed, layers=3, filters=16, hidden=32)
    planes = torch.randint(0, 2, (32, 3, 9, 9), generator=torch.Generator().manual_seed(seed))
    network(planes).value.sum().backward()
    first = next(network.trunk.parameters())
    assert first.grad is not None and first.grad.abs().max() > 0


def test_the_same_seed_makes_the_same_network_whatever_the_process_did_before() -> None:
    def weights(seed: int | None) -> np.ndarray:
        torch.rand(3)
        network = build_network("residual", 3, 5, seed=seed, blocks=1, filters=4, head_filters=2)
        return np.concatenate([tensor.ravel() for tensor in network.weights().values()])

    assert np.array_equal(weights(7), weights(7))
    assert not np.array_equal(weights(7), weights(8))
    assert not np.array_equal(weights(None), weights(None))


def test_building_leaves_the_random_state_of_the_process_alone() -> None:
    before = torch.get_rng_state()
    build_network("small", 3, 5, seed=1)
    assert torch.equal(before, torch.get_rng_state())


def test_a_residual_network_carries_its_weights_to_another_board() -> None:
    small, large = (build_network("residual", 3, size, seed=size, blocks=2, filters=8, value=True) for size in (9, 19))
    assert not all(map(torch.equal, small.parameters(), large.parameters()))
    large.load_state_dict(small.state_dict())
    for (name, ours), theirs in zip(small.state_dict().items(), large.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name


def test_bytes_and_floats_are_read_alike_and_networks_can_be_copied() -> None:
    network = copy.deepcopy(build_network("alphago", 3, 5, seed=1, layers=3, filters=4))
    planes = torch.randint(0, 2, (2, 3, 5, 5), dtype=torch.uint8)
    assert torch.equal(network(planes).policy, network(planes.float()).policy)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_has_a_finite_output(activation: str) -> None:
    network = build_network("small", 2, 5, seed=1, filters=(4, 4), dense=8, activation=activation)
    assert network(torch.rand(2, 2, 5, 5)).policy.isfinite().all()


def test_parse_network_reads_every_type_of_setting() -> None:
    assert parse_network("residual") == ("residual", {})
    name, arguments = parse_network(" residual:blocks=3, value=yes ,dropout=0.25,activation=mish")
    assert (name, arguments) == ("residual", {"blocks": 3, "value": True, "dropout": 0.25, "activation": "mish"})
    assert parse_network("small:filters=8-4")[1] == {"filters": (8, 4)}


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("tiny", "no network is called 'tiny'"),
        ("residual:depth=3", "not a setting of residual"),
        ("residual:blocks", "not a setting of residual"),
        ("residual:blocks=many", "cannot have blocks=many"),
        ("residual:blocks=-1", "cannot have blocks=-1"),
        ("residual:filters=0", "cannot have filters=0"),
        ("residual:dropout=1", "cannot have dropout=1"),
        ("residual:dropout=nan", "cannot have dropout=nan"),
        ("residual:value=perhaps", "cannot have value=perhaps"),
        ("residual:order=sideways", "order 'sideways' is not known"),
        ("residual:activation=sine", "activation 'sine' is not known"),
        ("small:filters=8-0", r"cannot have filters=\(8, 0\)"),
        ("small:pooling=min", "pooling 'min' is not known"),
        ("alphago:layers=1", "layers is 1"),
        ("microchess-lecture:state_planes=3", "state_planes is 3 of 3 planes"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(spec: str, complaint: str) -> None:
    with pytest.raises(NetworkSpecError, match=complaint):
        name, arguments = parse_network(spec)
        describe_network(name, 3, 9, **arguments)


@pytest.mark.parametrize(("planes", "size"), [(0, 9), (3, 0), (3, 1000), (3, True), (3, "9")])
def test_a_network_needs_planes_and_a_board(planes: int, size: int) -> None:
    with pytest.raises(NetworkSpecError, match="must be a whole number"):
        describe_network("small", planes, size)


@pytest.mark.parametrize("board", [{"width": 0}, {"width": 257}, {"actions": 0}, {"actions": 10**9}, {"actions": "9"}])
def test_a_board_needs_a_width_and_actions(board: dict[str, Any]) -> None:
    with pytest.raises(NetworkSpecError, match=rf"{next(iter(board))} is .*must be a whole number"):
        describe_network("small", 3, 9, **board)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(NetworkSpecError, match="no setting 'depth'"):
        build_network("residual", 3, 9, depth=3)
