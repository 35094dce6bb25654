"""Chances to win and centipawns are two ways to say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.agents.centipawns import centipawns, chance_behind


@given(st.floats(0, 1))
def test_centipawns_grow_with_the_chance(chance: float) -> None:
    assert -9999 <= centipawns(chance) == -centipawns(1 - chance) <= 9999 or chance < 1e-9 or chance > 1 - 1e-9
    assert centipawns(chance) <= centipawns(min(1.0, chance + 0.01))


@given(st.integers(-2000, 2000))
def test_the_chance_behind_centipawns_leads_back_to_them(advantage: int) -> None:
    assert centipawns(chance_behind(advantage)) == advantage


@pytest.mark.parametrize(("advantage", "chance"), [(0, 0.5), (100, 0.640065), (-400, 1 / 11), (10**9, 1.0)])
def test_known_chances(advantage: int, chance: float) -> None:
    assert chance_behind(advantage) == pytest.approx(chance, abs=1e-6)
    assert chance_behind(-advantage) == pytest.approx(1 - chance, abs=1e-6)
