"""`tengen models` from the outside."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from tengen.cli.main import app
from tengen.nets.model_file import bundled_models, find_model


def models(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["models", *arguments])


def test_list_names_every_bundled_model() -> None:
    result = models("list")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in bundled_models())
    assert "go 5x5, chinese rules, komi 3.5; encoder compact; 0." in result.stdout
    assert "microchess 4x5, standard rules; encoder" in result.stdout


def test_show_prints_the_card_for_people_and_for_programs() -> None:
    shown = models("show", "go5").stdout
    assert "go, 5x5" in shown and "382,147" in shown and "simulations=32" in shown
    card = json.loads(models("show", str(find_model("go5")), "--json").stdout)
    assert (card["game"], card["size"], card["training"]["positions"]) == ("go", 5, 382147)


def test_export_prints_the_match_and_writes_the_file(tmp_path: Path) -> None:
    result = models("export", "go5", "five", "--out", str(tmp_path), "--games", "2")
    assert result.exit_code == 0, result.output
    assert "zero:sims=32 against random: 2 won, 0 drawn, 0 lost" in result.stdout
    assert str(tmp_path / "five.safetensors") in result.stdout
    again = models("export", "go5", "five", "--out", str(tmp_path), "--games", "2")
    assert again.exit_code == 2
    assert again.stderr.startswith("tengen: ") and again.stderr.count("\n") == 1
    assert models("show", "nothing").exit_code == 2
