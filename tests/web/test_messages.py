"""One description of what pages and the server say: the page's types are made from it, and what is said is like it."""

import runpy
from pathlib import Path

from tengen.web.app import WebConfig, actions_of
from tengen.web.messages import ACTIONS, TOPICS, GameView, Hints
from tengen.web.thinking import AgentPool, Thinking

from .described import faults
from .served import Page

ROOT = Path(__file__).parents[2]


def test_the_types_of_the_page_are_made_from_the_description() -> None:
    made = runpy.run_path(str(ROOT / "web/make_messages.py"))
    assert made["FILE"].read_text("utf-8") == made["typescript"](), "run  make format"


def test_every_action_is_described(tmp_path: Path) -> None:
    assert actions_of(WebConfig(tmp_path), Thinking(1), Thinking(1), AgentPool()).keys() == ACTIONS.keys()


def test_what_is_not_described_is_noticed() -> None:
    assert not [*faults({"hints": [{"move": "C3", "chance": None}]}, Hints)]
    assert [*faults({"hints": [{"move": 3}]}, Hints)]
    assert [*faults({"hints": [], "more": 1}, Hints)]
    assert [*faults({}, GameView)]


def test_news_are_described(page: Page) -> None:
    """What a page asks and hears in all its parts; `Page` compares each message."""
    players = ["human", "spec:random"]
    for game in ("go", "microchess", "tictactoe"):
        played = page.ask("play.new", game=game, options={}, players=players)["id"]
        page.ask("play.open", id=played)
        page.wait("game", lambda view: view["id"] == played)  # noqa: B023
        page.ask("play.hint", id=played)
        study = page.ask("study.game", game=played)["id"]
        page.ask("study.open", id=study)
        page.ask("study.analyse", id=study, spec="mcts:playouts=20")
        page.wait("analysis", lambda view: view["visits"] > 0)
        page.ask("study.analyse", id=study, spec="")
        page.ask("explain.start", id=study, spec="mcts")
        page.ask("explain.step", id=study, count=3)
        page.wait("search", lambda view: view["simulations"] == 3)
    match = page.ask("match.new", game="tictactoe", options={}, players=["spec:random", "spec:random"], games=2)["id"]
    page.ask("match.open", id=match)
    page.wait("match", lambda view: len(view["results"]) == 2)
    for list_ in ("play.list", "study.list", "match.list", "runs.list", "hello"):
        page.ask(list_)
    assert page.news.keys() == TOPICS.keys() - {"run"}, "test_runs.py has that one"
