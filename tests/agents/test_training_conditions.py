"""What a model was trained on decides the defaults of a game, and is a warning in other games."""

import subprocess
import sys

import pytest

from tengen.agents.agent import Trained
from tengen.agents.registry import SpecError, load_agent, model_card
from tengen.agents.training_conditions import suited_options, warning
from tengen.games.game import get_game
from tengen.nets.model_file import ModelCard, ModelFileError


def card(game: str = "go", rules: str = "chinese", **training: object) -> ModelCard:
    return ModelCard(game, 5, rules, "compact", 5, "residual", training={"rules": rules, **training})


def test_the_options_that_suit_a_model() -> None:
    assert suited_options(card(komi=3.5)) == {"size": 5, "rules": "chinese", "komi": 3.5}
    assert suited_options(card(komi=[5.5, 9.5]))["komi"] == 7.5
    chess = card("microchess", "ncsoft", double_step=False)
    assert suited_options(chess) == {"rules": "ncsoft", "double_step": False}
    assert suited_options(ModelCard("go", 19, "chinese", "alphago", 48, "residual")) == {"size": 19}


@pytest.mark.parametrize(
    ("komi", "options", "line"),
    [
        (3.5, {"komi": 3.5}, None),
        ([2.5, 4.5], {"komi": 2.5}, None),
        ([2.5, 4.5], {"komi": 5}, "bot was trained with komi 2.5 to 4.5, and this game has komi 5: it may misjudge it"),
        (
            6.5,
            {"rules": "japanese"},
            "bot was trained with rules chinese, and this game has rules japanese: it may misjudge it",
        ),
    ],
)
def test_a_warning_in_other_games(komi: object, options: dict[str, object], line: str | None) -> None:
    go = get_game("go")
    assert warning("bot", card(komi=komi), go.new(go.options.of({"size": 5, **options}))) == line


def test_a_warning_about_the_double_step() -> None:
    chess = get_game("microchess")
    trained = card("microchess", "standard", double_step=True)
    state = chess.new(chess.options.of({"double_step": False}))
    assert warning("bot", trained, state) == (
        "bot was trained with double step yes, and this game has double step no: it may misjudge it"
    )
    assert warning("bot", trained, chess.new(chess.options())) is None


def test_the_card_of_a_spec() -> None:
    for spec in ("zero:go5", "gumbel:go5,sims=16", "zero:model=go5"):
        found = model_card(spec)
        assert found is not None and (found.game, found.size) == ("go", 5)
    assert [model_card(spec) for spec in ("uct:playouts=9", "random", "gtp:gnugo --mode gtp", "human", "")] == [
        None
    ] * 5
    with pytest.raises(ModelFileError, match="no model is called 'nothing'"):
        model_card("zero:nothing")
    with pytest.raises(SpecError, match="is not a setting of zero"):
        model_card("zero:go5,playouts=1")


def test_agents_with_a_model_warn() -> None:
    agent = load_agent("zero:go5,sims=1")
    go = get_game("go")
    assert isinstance(agent, Trained)
    assert agent.warning(go.new(go.options.of({"size": 5, "komi": 3.5}))) is None
    assert "komi 3.5, and this game has komi 9" in (agent.warning(go.new(go.options.of({"size": 5, "komi": 9}))) or "")
    assert not isinstance(load_agent("random"), Trained)


def test_a_card_is_read_without_torch() -> None:
    code = (
        "import sys; from tengen.agents.registry import model_card; "
        "model_card('zero:go5'); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
