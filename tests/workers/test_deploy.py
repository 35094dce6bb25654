"""Clusters ask for a token: the deploy files set one, and every Ray that we admit knows it (2.52 and later)."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["head.sh", "slurm.sh", "ray-up.yaml", "kuberay.yaml"])
def test_a_cluster_asks_for_a_token(name: str) -> None:
    text = (ROOT / "deploy" / name).read_text()
    assert "RAY_AUTH_MODE=token" in text or re.search(r"authOptions:\s+mode: token", text)
    for line in text.splitlines():
        if "ray start" in line and not line.startswith("#") and name == "ray-up.yaml":
            assert "RAY_AUTH_MODE=token" in line


def test_no_ray_without_tokens_is_admitted() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = [each for group in extras.values() for each in group if each.startswith("ray")]
    assert wanted and all(each.startswith("ray>=2.52,") for each in wanted)
