"""Whatever is sent, the server answers and goes on: random messages and random requests."""

import http.client
import json
import random
import resource

import pytest

from tengen.web.connection import FAILED

from .served import Address, Page, Served

ACTIONS = (
    "hello play.list play.opponents play.new play.load play.open play.leave play.move play.undo play.again play.dead "
    "play.hint play.estimate play.save play.remove study.new study.load study.game study.open study.go study.play "
    "study.analyse study.whole study.export explain.start explain.step explain.node runs.list runs.open runs.leave "
    "runs.replay runs.duel runs.pair runs.game match.list match.new match.open match.pause match.resume match.pace "
    "match.replay match.save nothing"
).split()
FIELDS = (
    "id game options players record move number point node spec visits count name index first second games seconds n do"
).split()
VALUES: list[object] = [
    None, True, -1, 0, 1, 7, 10**30, 1e308, float("nan"), "", "go", "microchess", "tictactoe", "C3", "pass", "resign",
    "../../etc/passwd", "x" * 16, "uct:playouts=10", "random", "gtp:sh", "spec:random", "(;SZ[5];B[cc])", "(;" * 50,
    [], {}, ["human", "human"], ["human", "spec:random"], {"size": 5}, {"size": "x"}, {"komi": "inf"}, [[[[]]]], "\x00",
    "\ud800", "<script>", "1. Nb3", '{"game": "tictactoe"}',
]  # fmt: skip
AT_ONCE = 75  # messages of one page before it is slowed down


def send_some(served: Address, rng: random.Random) -> None:
    """A page that sends whatever comes to its mind."""
    page = Page(served)
    known = [page.ask("play.new", game="go", options={"size": 5}, players=["human", "human"])["id"]]
    known.append(page.ask("study.new", game="tictactoe", options={})["id"])
    for number in range(AT_ONCE):
        message: dict[str, object] = {"n": number, "do": rng.choice(ACTIONS)}
        for name in rng.sample(FIELDS, rng.randrange(6)):
            message[name] = rng.choice(known) if rng.random() < 0.3 else rng.choice(VALUES)
        text = json.dumps(message)
        if rng.random() < 0.1:
            cut = rng.randrange(len(text))
            text = text[:cut] + rng.choice(["", "{", '"', "\\", "é"]) + text[cut + 1 :]
        answer = page.send(text)
        assert answer.get("error") != FAILED, text
    page.close()


def request_something(served: Address, rng: random.Random) -> None:
    """A request as no browser sends it."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    path = "/" + "".join(rng.choice("/.%2e..assets?&=abc\\~") for _ in range(rng.randrange(30)))
    connection.request(
        rng.choice(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]), path, body=b"x" * rng.randrange(9)
    )
    assert connection.getresponse().status < 500
    connection.close()


def test_random_messages_and_requests(served: Served) -> None:
    rng = random.Random(1)
    for _ in range(10):
        send_some(served, rng)
    for _ in range(200):
        request_something(served, rng)


@pytest.mark.long
def test_a_hundred_thousand_do_not_make_the_server_grow(served: Served) -> None:
    rng = random.Random(2)
    for _ in range(100):
        send_some(served, rng)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1_200):
        send_some(served, rng)
    for _ in range(2_500):
        request_something(served, rng)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 100  # megabytes
