"""Rule sets as KataGo's GTP extension writes them: one JSON object, or a short name.

Go programs that know `kata-get-rules` and `kata-set-rules` agree on rules with these. The JSON says what our
rule sets do, not what KataGo does under the same name: KataGo's `chinese`, for one, has the simple ko where
ours has positional superko, as the written Chinese rules have. Simple-Go's forced play is a field of our own.
"""

import json
from typing import Any, Final

from tengen.games.go import RULES, RuleSet

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
