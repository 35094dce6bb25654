"""The players of AlphaGo's ablation (Silver et al. 2016, Figure 4b): the search without one part or another.

Policy alone, value, rollouts, both; each search with and without the policy's prior; and two of another kind to compare
with. All think for the same time, on one core.
"""

from pathlib import Path


def ablation(model: str | Path, seconds: float, *, value: str | Path = "", fast: str | Path = "") -> dict[str, str]:
    """Name -> spec of every player; `value` and `fast` name the value network and the fast policy of the search.

    >>> ablation("go9", 0.1)["rollouts, no prior"]
    'alphago:go9,lambda=1.0,prior=no,seconds=0.1,threads=1'
    """
    others = "".join(f",{name}={path}" for name, path in (("value", value), ("fast", fast)) if str(path))
    players = {}
    for name, share in (("value and rollouts", 0.5), ("value", 0.0), ("rollouts", 1.0)):
        for suffix, prior in (("", ""), (", no prior", ",prior=no")):
            players[name + suffix] = f"alphago:{model}{others},lambda={share}{prior},seconds={seconds:g},threads=1"
    players["policy"] = f"policy:{model}"
    players["uct"] = f"uct:seconds={seconds:g}"
    if not str(value):
        players["zero"] = f"zero:{model},seconds={seconds:g}"
    return players
