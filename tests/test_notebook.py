"""What a notebook shows of Tengen's objects: one line each, and a picture of every position."""

import xml.etree.ElementTree as ET

import pytest

import tengen


def test_representations_are_one_short_line() -> None:
    state = tengen.go.State.new(size=5, komi=3.5)
    *_, analysis = tengen.load_analyst("zero:go5", seed=1).analyse(state, visits=20)
    agent = tengen.load_agent("random", seed=1)
    record = tengen.play_game(agent, agent, tengen.microchess.State.new())
    model = tengen.load_model("go5")
    for thing in (analysis, analysis.moves[0], record, model):
        assert repr(thing).startswith(f"{type(thing).__name__}(")
        assert len(repr(thing)) < 300
        assert "\n" not in repr(thing)
    assert repr(model) == "Model('go', size=5, network='residual', encoder='compact')"


@pytest.mark.parametrize("name", ["go", "microchess", "tictactoe"])
def test_positions_have_a_picture(name: str) -> None:
    state = tengen.get_game(name).start()
    picture = ET.fromstring(state.play(state.legal_moves()[0])._repr_svg_())  # type: ignore[attr-defined]
    assert picture.tag.endswith("svg")


def test_the_picture_of_tic_tac_toe_shows_the_marks() -> None:
    state = tengen.tictactoe.GAME.start().play(4).play(0)
    picture = ET.fromstring(state._repr_svg_())  # type: ignore[attr-defined]
    assert [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")] == ["O", "X"]
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}rect"))) == 9
