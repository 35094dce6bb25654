"""`import tengen` offers what it promises, costs next to nothing, and every public name shows an example that runs."""

import ast
import doctest
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tengen

ROOT = Path(__file__).parent.parent


def documented() -> dict[str, Any]:
    """Every public name, and what is public in the modules among them."""
    found = {name: getattr(tengen, name) for name in tengen.__all__}
    for name, module in list(found.items()):
        if isinstance(module, ModuleType):
            members = {each: getattr(module, each) for each in module.__all__}
            found |= {f"{name}.{each}": thing for each, thing in members.items() if ">>>" in (thing.__doc__ or "")}
    return found


@pytest.mark.parametrize("name", ["", *documented()])
def test_examples_do_what_they_say(name: str) -> None:
    thing = documented()[name] if name else tengen
    finder = doctest.DocTestFinder(recurse=inspect.isclass(thing))
    examples = [test for test in finder.find(thing, name or "tengen", globs={}) if test.examples]
    assert examples, f"the docstring of tengen.{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
    for test in examples:
        assert runner.run(test).failed == 0


def test_states_show_examples_too() -> None:
    assert {"go.State", "microchess.State", "envs.env", "envs.VectorEnv"} <= documented().keys()


def test_importing_tengen_loads_nothing_else() -> None:
    code = (
        "import sys, tengen; loaded = [name for name in sys.modules if name.startswith('tengen.')];"
        "heavy = {'numpy', 'numba', 'torch', 'openvino', 'typer', 'rich'} & set(sys.modules); print(loaded, heavy)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[] set()\n"


def test_playing_needs_no_torch() -> None:
    code = (
        "import sys, tengen; tengen.load_agent; tengen.load_model; tengen.play_match; tengen.Searcher; tengen.envs;"
        "print('torch' in sys.modules, 'pettingzoo' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False False\n"


def test_editors_and_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(tengen.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {name: place.replace(":", ".") for name, place in tengen._PLACES.items()}
    assert set(dir(tengen)) == {*tengen.__all__, "__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'play_matches'"):
        tengen.play_matches  # noqa: B018


def load_make_api() -> Any:
    """The program that makes the page of the API."""
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    assert spec is not None and spec.loader is not None
    make_api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_api)
    return make_api


def test_every_field_of_a_public_class_says_what_it_means() -> None:
    make_api = load_make_api()
    kinds = [thing for thing in documented().values() if inspect.isclass(thing)]
    fields = {(kind.__name__, each) for kind in kinds for each in make_api.fields(kind)}
    assert len(fields) > 100
    assert not [(name, each.declaration) for name, each in fields if not each.meaning]
    assert ("PuctParameters", make_api.Field("exploration: float = 1.5", "c: how much the prior counts")) in fields


def test_examples_import_nothing_from_inner_modules() -> None:
    pages = [*ROOT.glob("examples/*.py"), *ROOT.glob("docs/*.md"), ROOT / "README.md"]
    extending = {"add-a-game.md", "tables.md"}  # a game of your own is made of the parts of ours; tables are a package
    inner = {
        (page.name, line.strip())
        for page in pages
        if page.name not in extending
        for line in page.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*(>>> )?(from|import) tengen\.", line)
    }
    assert not inner


def test_the_page_of_the_api_is_up_to_date() -> None:
    make_api = load_make_api()
    assert {name for names in make_api.SECTIONS.values() for name in names} == set(tengen.__all__)
    assert make_api.PAGE.read_text() == make_api.make_page(), "run `make docs`"
