"""The file that teaches this game to Fairy-Stockfish and its Python module, and the names the variants have there."""

from pathlib import Path


def variants_path() -> Path:
    """The variants file, for `setoption name VariantPath value FILE`."""
    return Path(__file__).with_name("variants.ini")


def variant_name(double_step: bool) -> str:
    """What the game is called there, with or without the pawns' double step."""
    return "microchessds" if double_step else "microchess"
