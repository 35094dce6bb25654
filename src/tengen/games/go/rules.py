"""Rule sets by name, and the options of a game.

`docs/rules.md` states every choice and why; the table there is made from this file. A rule set is a frozen dataclass;
`flags` is its shorthand for kernels.

Go programs that know `kata-get-rules` and `kata-set-rules` agree on rules by one JSON object, or a short name. The JSON
says what our rule sets do, not what KataGo does under the same name: KataGo's `chinese`, for one, has the simple ko
where ours has positional superko, as the written Chinese rules have. Simple-Go's forced play is a field of our own.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from tengen.games.go.coordinates import check_size, fixed_handicap
from tengen.games.state import Options

KoRule = Literal["simple", "positional", "situational"]
Scoring = Literal["area", "territory"]

# Bits of `RuleSet.flags`. With neither superko bit, only the simple ko is forbidden.
POSITIONAL, SITUATIONAL, SUICIDE, TERRITORY_KEPT, REMOVES_DEAD, BY_TERRITORY = 1, 2, 4, 8, 16, 32


@dataclass(frozen=True)
class RuleSet:
    """How a game of Go is played and counted."""

    name: str
    ko: KoRule
    """Which repetition is forbidden: the immediate retaking of one stone, any earlier position, or any
    earlier position with the same player to move."""
    suicide: bool
    """Whether a player may take its own stones off the board by filling their last liberty."""
    scoring: Scoring
    komi: float
    """White's compensation when none is given."""
    removes_dead: bool
    """Whether dead stones are taken off before counting; if not, all that stands on the board is alive."""
    handicap_bonus: Literal["none", "stones", "stones-1"] = "none"
    """Points that White gets for a handicap under area scoring."""
    forced_play: bool = False
    """Simple-Go: a pass is legal only without any other move, and one-point territory is not filled."""
    size: int = 9
    """Board size when none is given."""

    @cached_property
    def flags(self) -> int:
        """The rules that kernels need, as bits."""
        ko = {"simple": 0, "positional": POSITIONAL, "situational": SITUATIONAL}[self.ko]
        flags = ko | (SUICIDE if self.suicide else 0) | (TERRITORY_KEPT if self.forced_play else 0)
        flags |= REMOVES_DEAD if self.removes_dead else 0
        return flags | (BY_TERRITORY if self.scoring == "territory" else 0)

    def bonus(self, handicap: int) -> float:
        """White's extra points in a game with this many handicap stones."""
        if handicap < 2 or self.handicap_bonus == "none" or self.scoring != "area":
            return 0.0
        return float(handicap if self.handicap_bonus == "stones" else handicap - 1)

    def check_komi(self, komi: float) -> float:
        """The komi itself, or a ValueError where this rule set does not know it."""
        if not abs(komi) <= 1000:
            raise ValueError(f"komi {komi} is not possible: give a number of points such as 6.5")
        if self.forced_play and not 0.5 <= komi <= 24.5:
            raise ValueError(f"komi {komi} is not possible under {self.name} rules: give 0.5 to 24.5")
        return float(komi)


_ALL = (
    RuleSet("tromp-taylor", "positional", True, "area", 7.5, removes_dead=False),
    RuleSet("chinese", "positional", False, "area", 7.5, removes_dead=True, handicap_bonus="stones"),
    RuleSet("japanese", "simple", False, "territory", 6.5, removes_dead=True),
    RuleSet("aga", "situational", False, "area", 7.5, removes_dead=True, handicap_bonus="stones-1"),
    RuleSet("new-zealand", "situational", True, "area", 7.0, removes_dead=True),
    RuleSet("simple-go", "positional", False, "area", 3.5, removes_dead=False, forced_play=True, size=5),
)
RULES: Final[dict[str, RuleSet]] = {rules.name: rules for rules in _ALL}


def get_rules(name: str | RuleSet) -> RuleSet:
    """The rule set of this name; ValueError with all names if there is none."""
    if isinstance(name, RuleSet):
        return name
    rules = RULES.get(name.strip().lower())
    if rules is None:
        raise ValueError(f"no rule set is called {name[:40]!r}: choose from {', '.join(RULES)}")
    return rules


# --------------------------------------------------------------------------------------------- options


@dataclass(frozen=True)
class GoOptions(Options):
    """Board, rules and komi. What is not given follows from the rule set."""

    game: ClassVar[str] = "go"

    size: int = 0
    """Points on a side, 2 to 25; 0: the rule set's usual board."""
    rules: str = "chinese"
    komi: float = float("nan")
    """White's points for moving second; not a number: the rule set's, or 0.5 with a handicap."""
    handicap: int = 0
    """Stones that Black has on the board before White begins: 0, or 2 to 9."""
    limit: int = 0
    """Moves after which games in batches are counted as they stand; 0: three times the points of the board."""

    def __post_init__(self) -> None:
        rules = get_rules(self.rules)
        object.__setattr__(self, "rules", rules.name)
        object.__setattr__(self, "size", check_size(self.size or rules.size))
        usual = 0.5 if self.handicap else rules.komi
        object.__setattr__(self, "komi", rules.check_komi(usual if self.komi != self.komi else self.komi))
        if self.handicap:
            fixed_handicap(self.size, self.handicap)
        if self.limit < 0:
            raise ValueError(f"a limit of {self.limit} moves is not possible: give 0 (three times the points) or more")


_BONUS: Final = {"none": "0", "stones": "N", "stones-1": "N-1"}
_OTHER_NAMES: Final = {
    "tromp_taylor": "tromp-taylor",
    "chinese-ogs": "chinese",
    "chinese-kgs": "chinese",
    "korean": "japanese",
    "bga": "aga",
    "nz": "new-zealand",
    "new_zealand": "new-zealand",
}


def rules_as_json(rules: RuleSet) -> str:
    """The rule set as `kata-get-rules` answers it."""
    return json.dumps(_fields(rules), separators=(",", ":"))


def rules_from_text(text: str) -> RuleSet:
    """The rule set that a name or a JSON object stands for; ValueError if it is none of ours."""
    text = text.strip()
    if not text.startswith("{"):
        name = text.lower()
        rules = RULES.get(_OTHER_NAMES.get(name, name))
        if rules is None:
            raise ValueError(f"unknown rules {text[:40]!r}: choose from {', '.join(RULES)}")
        return rules
    wanted = _parse(text)
    for rules in RULES.values():
        ours = _fields(rules)
        # friendlyPassOk is younger than the rest, and may be left out.
        if wanted in (ours, {key: value for key, value in ours.items() if key != "friendlyPassOk"}):
            return rules
    raise ValueError(f"no rule set is like that: choose from {', '.join(RULES)}")


def _fields(rules: RuleSet) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "ko": rules.ko.upper(),
        "scoring": rules.scoring.upper(),
        "suicide": rules.suicide,
        "tax": "NONE",
        "whiteHandicapBonus": _BONUS[rules.handicap_bonus],
        "hasButton": False,
        "friendlyPassOk": rules.removes_dead,
    }
    return fields | ({"forcedPlay": True} if rules.forced_play else {})


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("the rules are neither a name nor a JSON object") from None
