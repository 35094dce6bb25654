"""The house keeps its promises: documents agree with the package, and its rules of safety hold."""

import ast
import doctest
import importlib.metadata
import re
from pathlib import Path

import pytest
from typer.main import get_command

import tengen
from tengen.cli.main import EXAMPLES, app

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_version_is_the_same_everywhere() -> None:
    newest = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert tengen.__version__ == importlib.metadata.version("tengen") == newest[1]


def test_documents_and_help_name_only_commands_that_exist() -> None:
    shown = "\n".join([*(line for line, _ in EXAMPLES), *(code for path in DOCUMENTS for code in shell(path))])
    commands = set(re.findall(r"^(?:\$ )?tengen ([a-z-]+)", shown, re.MULTILINE))
    assert commands <= set(getattr(get_command(app), "commands", {}))


@pytest.mark.parametrize("document", ["README.md", "docs/envs.md", "docs/search.md"])
def test_the_python_in_the_documents_does_what_it_says(document: str) -> None:
    result = doctest.testfile(str(ROOT / document), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_documents_name_only_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "\n".join(path.read_text() for path in DOCUMENTS)
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
    assert set(re.findall(r"^(?:\$ )?make ([a-z-]+)", text, re.MULTILINE)) <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_nothing_loads_what_could_execute_code() -> None:
    """No pickle, in any of its guises: model files and game tables are plain data."""
    forbidden = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
    found = [f"{path.relative_to(ROOT)}: {name}" for path in SOURCES for name in imports(path) & forbidden]
    assert found == []


def test_names_say_what_is_inside() -> None:
    vague = {"utils", "util", "helpers", "common", "misc", "manager"}
    assert [path for path in SOURCES if vague & set(path.relative_to(ROOT).with_suffix("").parts)] == []


def shell(document: Path) -> list[str]:
    """The shell blocks of a Markdown document."""
    return re.findall(r"```(?:sh|bash|console)\n(.*?)```", document.read_text(), re.DOTALL)


def imports(path: Path) -> set[str]:
    """The top-level packages that a source file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def test_only_one_place_counts_cores() -> None:
    """`_machine.cores` respects the affinity of the process, which `os.cpu_count` does not."""
    assert [path.name for path in SOURCES if "cpu_count" in path.read_text()] == ["_machine.py"]


def test_folders_are_made_so_that_they_survive_a_power_cut() -> None:
    """By `runs.files.make_folder`, but for caches and the secret of the page, which are made again."""
    made_again = {"_kernel_cache.py", "guard.py", "sent_files.py"}
    assert {path.name for path in SOURCES if ".mkdir(" in path.read_text()} == {"files.py", *made_again}
