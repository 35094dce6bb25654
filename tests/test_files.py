"""Files that are whole or not there: after a kill, with two processes at them, with a flipped bit."""

from pathlib import Path

import numpy as np

from tengen._arrays import load_arrays, save_arrays
from tengen._files import remove_cut_off, sole_use


def test_what_a_kill_cut_off_is_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    cut_off = tmp_path / "models" / f".g1.safetensors.{'0a' * 16}.part"
    others = [tmp_path / "KGS.tar.gz.part", tmp_path / ".mine.part", tmp_path / "models" / "g1.safetensors"]
    for path in (cut_off, *others):
        path.write_bytes(b"")
    remove_cut_off(tmp_path)
    assert not cut_off.exists() and all(path.exists() for path in others)


def test_a_folder_has_one_user(tmp_path: Path) -> None:
    with sole_use(tmp_path) as first, sole_use(tmp_path) as second:
        assert first and not second
    with sole_use(tmp_path) as again:
        assert again


def test_every_flipped_bit_of_arrays_is_found(tmp_path: Path) -> None:
    path = tmp_path / "arrays.safetensors"
    arrays = {"moves": np.arange(6, dtype=np.int16).reshape(2, 3), "komi": np.array(3.5)}
    save_arrays(path, arrays, {"facts": "7"})
    found, about = load_arrays(path)
    assert about == {"facts": "7"} and found["komi"].shape == ()
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    good = path.read_bytes()
    for place in range(len(good)):
        for bit in range(8):
            path.write_bytes(good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :])
            try:
                found, about = load_arrays(path)
            except ValueError:
                continue
            assert about["facts"] == "7" and found.keys() == arrays.keys()  # such as a blank
            assert all(np.array_equal(found[name], array) for name, array in arrays.items())
