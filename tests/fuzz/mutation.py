"""Inputs that are nearly right: mutations of good ones, by a seed."""

import random
from collections.abc import Sequence

NASTY = (
    *(bytes([byte]) for byte in b'\0\t \n"\\[](){};#=,:/'), b"", b"\xff\xfe", b"\r\n", b"\xed\xa0\x80",
    *(str(number).encode() for number in (-1, 0, 1, 19, 25, 26, 52, 255, 65536, 2**31, -(2**63) - 1, 10**400)),
    b"1e308", b"1e999", b"-0.0", b"nan", b"inf", b"null", b"true", b"%s%n", b"../../x", "ü한가".encode(),
)  # fmt: skip
"""Pieces that readers tend to stumble over."""
MOST = 20_000
"""Bytes of an input."""


def mutate(good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the good inputs with a few changes; `tokens`: words of the format."""
    data = bytearray(rng.choice(good))
    for _ in range(rng.choice((1, 1, 2, 3, 5, 12))):
        data = rng.choice(_CHANGES)(data, good, tokens, rng)
    return bytes(data[:MOST])


def _spot(data: bytearray, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _flip(data: bytearray, good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytearray:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def _replace(data: bytearray, good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytearray:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return data


def _insert(data: bytearray, good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytearray:
    spot = _spot(data, rng)
    piece = rng.choice(tokens) if tokens and rng.random() < 0.6 else rng.choice(NASTY)
    return data[:spot] + piece + data[spot:]


def _overwrite(data: bytearray, good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytearray:
    spot = _spot(data, rng)
    piece = rng.choice(tokens) if tokens and rng.random() < 0.6 else rng.choice(NASTY)
    return data[:spot] + piece + data[spot + rng.randrange(len(piece) + 4) :]


def _remove(data: bytearray, good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytearray:
    spot = _spot(data, rng)
    return data[:spot] + data[spot + rng.choice((1, 2, 5, 20, 100)) :]


def _cut(data: bytearray, good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytearray:
    return data[: _spot(data, rng)]


def _repeat(data: bytearray, good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytearray:
    spot = _spot(data, rng)
    piece = data[spot : spot + rng.choice((1, 4, 20, 200))]
    return data[:spot] + piece * rng.choice((2, 3, 10, 60)) + data[spot:]


def _join(data: bytearray, good: Sequence[bytes], tokens: Sequence[bytes], rng: random.Random) -> bytearray:
    other = rng.choice(good)
    return data[: _spot(data, rng)] + other[rng.randrange(len(other) + 1) :]


_CHANGES = (_flip, _replace, _insert, _insert, _overwrite, _overwrite, _remove, _cut, _repeat, _join)
