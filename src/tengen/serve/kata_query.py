"""A query of KataGo's analysis protocol: one JSON object, checked field by field.

Names, limits and messages are KataGo's (its docs/Analysis_Engine.md), so that programs written for it understand
Tengen. What differs: boards are square, moves are avoided at the first move of a search only, and rules that Tengen
does not have are replaced by the nearest, with a warning.
"""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE, IllegalMove, RuleSet, from_gtp
from tengen.games.go.rules import RULES, rules_from_text
from tengen.serve.gtp_protocol import resumed

PERSPECTIVES: Final = ("BLACK", "WHITE", "SIDETOMOVE")
_PLAYERS: Final = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_PAIRS: Final = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
_RULES: Final = 'Must specify rules string, such as "chinese" or "tromp-taylor", or a JSON object of rules parameters.'
_AVOIDED: Final = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"
_LARGEST: Final = 25
_FLAGS: Final = {
    "includeOwnership": "ownership",
    "includeMovesOwnership": "moves_ownership",
    "includePolicy": "policy",
    "includePVVisits": "pv_visits",
}
_SETTINGS: Final = frozenset(
    "maxVisits maxTime reportAnalysisWinratesAs"
    # Of KataGo's search, which ours has not: a query with them is answered as one without.
    " wideRootNoise rootPolicyTemperature rootPolicyTemperatureEarly rootFpuReductionMax fpuReductionMax"
    " cpuctExploration rootNumSymmetriesToSample ignorePreRootHistory antiMirror analysisIgnorePreRootHistory"
    " playoutDoublingAdvantage playoutDoublingAdvantagePla staticScoreUtilityFactor dynamicScoreUtilityFactor"
    " maxPlayouts conservativePass preventCleanupPhase humanSLProfile"
    " humanSLRootExploreProbWeightful humanSLRootExploreProbWeightless humanSLCpuctPermanent"
    " humanSLPlaExploreProbWeightful humanSLPlaExploreProbWeightless"
    " humanSLOppExploreProbWeightful humanSLOppExploreProbWeightless".split()
)


class QueryError(ValueError):
    """A query that cannot be answered; `field` is where it is wrong, if it is in one place."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass
class Query:
    """What is asked, about one game."""

    id: str
    agent: int = 0
    """Which of the agents analyses."""
    states: dict[int, go.State] = field(default_factory=dict)
    """The positions to analyse, by their turn."""
    priorities: dict[int, int] = field(default_factory=dict)
    visits: int | None = None
    seconds: float = math.inf
    perspective: str | None = None
    ownership: bool = False
    moves_ownership: bool = False
    policy: bool = False
    pv_visits: bool = False
    pv_length: int = 15
    report_every: float = math.inf
    first_report: float = math.inf
    avoid: dict[int, frozenset[int]] = field(default_factory=dict)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    """Fields and what is to be said about them."""


def parse_query(given: dict[str, Any], supports: Sequence[Callable[[go.State], bool]]) -> Query:
    """The query of a JSON object whose `id` is a text; QueryError if a field is missing or wrong.

    `supports`: whether each of the agents can play a game that begins with this position.
    """
    query, size = Query(given["id"]), _size(given)
    stones = _pairs(given, "initialStones", size, may_pass=False) if "initialStones" in given else []
    if "moves" not in given:
        raise QueryError("Must specify an array of [player,location] pairs", "moves")
    moves = _pairs(given, "moves", size)
    player = _player(given["initialPlayer"], "initialPlayer") if "initialPlayer" in given else None
    turns = _turns(given, len(moves))
    first = _first_position(given, query, size, stones, player or (moves[0][0] if moves else None), supports)
    _set_limits(given, query)
    _set_priorities(given, query, turns)
    _set_avoided(given, query, size)
    state = first
    for turn in range(len(moves) + 1):
        if turn in turns:
            query.states[turn] = resumed(state).with_to_play(state.to_play)
        if turn < len(moves):
            color, move = moves[turn]
            try:
                state = resumed(state).play(move, color)
            except IllegalMove:
                raise QueryError(f"Illegal move {turn}: {state.move_name(move)}", "moves") from None
    return query


# ------------------------------------------------------------------------------------------------- fields


def _size(given: dict[str, Any]) -> int:
    for name in ("boardXSize", "boardYSize"):
        if not _is_integer(given.get(name)) or not 2 <= given[name] <= _LARGEST:
            raise QueryError(f"Must provide an integer from 2 to {_LARGEST}", name)
    if given["boardXSize"] != given["boardYSize"]:
        raise QueryError("Must be the same as boardXSize: only square boards are supported", "boardYSize")
    return int(given["boardXSize"])


def _first_position(
    given: dict[str, Any],
    query: Query,
    size: int,
    stones: list[tuple[int, int]],
    player: int | None,
    supports: Sequence[Callable[[go.State], bool]],
) -> go.State:
    """Turn 0, by the rules asked for, or by the nearest that the agent can play by, who is the first that can."""
    rules, komi = _rules(given, query), _komi(given)
    placed = {point: color for color, point in stones}
    black, white = ([point for point, color in placed.items() if color == side] for side in (BLACK, WHITE))
    handicap = len(black) if len(black) >= 2 and not white else 0
    to_play = player or (WHITE if handicap else BLACK)
    points, wanted = rules.komi if komi is None else komi, given.get("whiteHandicapBonus")
    if wanted not in (None, "0", "N", "N-1"):
        raise QueryError('Must be "0", "N" or "N-1"', "whiteHandicapBonus")

    def position(rules: RuleSet) -> go.State:
        bonuses = {None: rules.bonus(handicap), "0": 0, "N": handicap, "N-1": max(0, handicap - 1)}
        try:  # White's bonus for a handicap is part of the komi: any number of stones can be one
            return go.State.setup(size, rules, points + bonuses[wanted], black, white, to_play)
        except ValueError as error:
            raise QueryError(str(error), "initialStones") from None

    for query.agent, can_play in enumerate(supports):
        if can_play(state := position(rules)):
            return state
        if rules.name != "chinese" and can_play(state := position(RULES["chinese"])):
            query.warnings.append(("rules", f"Rules {rules.name} not supported by the agent, using chinese instead"))
            return state
    raise QueryError(f"the agent cannot play on {size}x{size} under {rules.name} rules", "boardXSize")


def _rules(given: dict[str, Any], query: Query) -> RuleSet:
    wanted = given.get("rules")
    if not isinstance(wanted, (str, dict)):
        raise QueryError(_RULES, "rules")
    text = wanted if isinstance(wanted, str) else json.dumps(wanted)
    try:
        return rules_from_text(text)
    except ValueError:
        pass
    scoring = str(wanted.get("scoring", "")).upper() if isinstance(wanted, dict) else ""
    if scoring not in ("AREA", "TERRITORY"):
        raise QueryError(f"Could not parse rules: {text[:200]}", "rules")
    assert isinstance(wanted, dict)
    name = "japanese" if scoring == "TERRITORY" else "tromp-taylor" if wanted.get("suicide") else "chinese"
    query.warnings.append(("rules", f"Rules {text[:200]} not supported, using {name} instead"))
    return RULES[name]


def _komi(given: dict[str, Any]) -> float | None:
    if "komi" not in given:
        return None
    komi = given["komi"]
    if not _is_number(komi) or not -150 <= komi <= 150 or 2 * komi != int(2 * komi):
        raise QueryError("Must be a integer or half-integer from -150.0 to 150.0", "komi")
    return float(komi)


def _turns(given: dict[str, Any], moves: int) -> list[int]:
    if "analyzeTurns" not in given:
        return [moves]
    turns = given["analyzeTurns"]
    if not isinstance(turns, list) or not all(map(_is_integer, turns)):
        raise QueryError("Must specify an array of integers indicating turns to analyze", "analyzeTurns")
    for turn in turns:
        if not 0 <= turn <= moves:
            raise QueryError(f"Invalid turn number: {turn}", "analyzeTurns")
    return turns


def _set_limits(given: dict[str, Any], query: Query) -> None:
    settings = given.get("overrideSettings", {})
    if not isinstance(settings, dict):
        raise QueryError("Must be an object", "overrideSettings")
    try:
        query.visits = _integer(settings, "maxVisits", 1, 1 << 50, "maxVisits must be an integer from 1 to 2^50")
        query.seconds = _number(settings, "maxTime", 0.0, 1e20, "maxTime must be a number of seconds") or math.inf
        perspective = str(settings.get("reportAnalysisWinratesAs", "")).upper()
        if perspective and perspective not in PERSPECTIVES:
            raise QueryError("reportAnalysisWinratesAs must be BLACK, WHITE or SIDETOMOVE")
    except QueryError as error:
        raise QueryError(f"Could not set settings: {error}", "overrideSettings") from None
    query.perspective = perspective or None
    unknown = ",".join(str(name) for name in settings if name not in _SETTINGS)
    if unknown:
        query.warnings.append(("overrideSettings", f"Unknown config params: {unknown[:500]}"))
    query.visits = _integer(given, "maxVisits", 1, 1 << 50, "Must be an integer from 1 to 2^50") or query.visits
    query.pv_length = _integer(given, "analysisPVLen", 1, 1000, "Must be an integer from 1 to 1000") or query.pv_length
    for name, attribute in _FLAGS.items():
        if name in given:
            if not isinstance(given[name], bool):
                raise QueryError("Must be a boolean", name)
            setattr(query, attribute, given[name])
    message = "Must be number of seconds from 0.001 to 1000000.0"
    query.report_every = _number(given, "reportDuringSearchEvery", 1e-3, 1e6, message) or math.inf
    first = _number(given, "firstReportDuringSearchAfter", 1e-3, 1e6, message)
    query.first_report = query.report_every if first is None else first
    for name in ("rootPolicyTemperature", "rootFpuReductionMax"):
        if name in given:
            query.warnings.append((name, "Not supported, ignored"))


def _set_priorities(given: dict[str, Any], query: Query, turns: list[int]) -> None:
    most = 0x3FFF_FFFF_FFFF_FFFF
    if "priority" in given and "priorities" in given:
        raise QueryError("Cannot specify both priority and priorities", "priority")
    single = _integer(given, "priority", -most, most, "Must be a number between -2^62 and 2^62")
    query.priorities = dict.fromkeys(turns, single or 0)
    if "priorities" in given:
        priorities = given["priorities"]
        if not isinstance(priorities, list) or not all(map(_is_integer, priorities)):
            raise QueryError("Must specify an array of integers indicating priorities", "priorities")
        if "analyzeTurns" not in given:
            raise QueryError("Can only specify when also specifying analyzeTurns", "priorities")
        if len(priorities) != len(turns):
            raise QueryError("Must be of matching length to analyzeTurns", "priorities")
        query.priorities = dict(zip(turns, priorities, strict=True))


def _set_avoided(given: dict[str, Any], query: Query, size: int) -> None:
    if "allowMoves" in given and "avoidMoves" in given:
        raise QueryError("Cannot specify both allowMoves and avoidMoves", "allowMoves")
    for name in ("allowMoves", "avoidMoves"):
        entries = given.get(name, [])
        if not isinstance(entries, list):
            raise QueryError(_AVOIDED, name)
        if name == "allowMoves" and len(entries) > 1:
            raise QueryError("Currently allowMoves only allows one entry", name)
        for entry in entries:
            if not isinstance(entry, dict) or not {"player", "moves", "untilDepth"} <= entry.keys():
                raise QueryError(_AVOIDED, name)
            color = _player(entry["player"], "player")
            if not isinstance(entry["moves"], list):
                raise QueryError("Must be an array of GTP board vertices", "moves")
            moves = frozenset(_location(word, size, "moves", may_pass=True) for word in entry["moves"])
            if (_integer(entry, "untilDepth", 1, 10**9, "Must be a positive integer") or 1) > 1:
                query.warnings.append((name, "Moves are left out at the first move only, whatever untilDepth is"))
            if name == "allowMoves":
                moves = frozenset({PASS, *range(size * size)}) - moves
            query.avoid[color] = query.avoid.get(color, frozenset()) | moves


# ------------------------------------------------------------------------------------------------- values


def _pairs(given: dict[str, Any], name: str, size: int, may_pass: bool = True) -> list[tuple[int, int]]:
    """(colour, point) of each pair."""
    pairs = given[name]
    if not isinstance(pairs, list):
        raise QueryError(_PAIRS, name)
    found = []
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(word, str) for word in pair):
            raise QueryError(_PAIRS, name)
        color = _PLAYERS.get(pair[0].lower())
        if color is None:
            raise QueryError(f"Could not parse player: {pair[0][:40]}", name)
        found.append((color, _location(pair[1], size, name, may_pass)))
    return found


def _location(word: Any, size: int, name: str, may_pass: bool) -> int:
    """A point by its GTP name, or as `(x,y)` from the top left; PASS where that may be."""
    if not isinstance(word, str):
        raise QueryError("Must be an array of GTP board vertices", name)
    if match := re.fullmatch(r"\(([0-9]{1,2}),([0-9]{1,2})\)", word):
        x, y = int(match[1]), int(match[2])
        point = y * size + x if x < size and y < size else None
    else:
        try:
            point = from_gtp(word, size)
        except ValueError:
            point = None
    if point is None or point < PASS or (point == PASS and not may_pass):
        raise QueryError(f"Could not parse board location: {word[:40]}", name)
    return point


def _player(word: Any, name: str) -> int:
    color = _PLAYERS.get(word.lower()) if isinstance(word, str) else None
    if color is None:
        raise QueryError('Must be "b" or "w"', name)
    return color


def _integer(given: dict[str, Any], name: str, least: int, most: int, message: str) -> int | None:
    if name not in given:
        return None
    value = given[name]
    if not _is_integer(value) or not least <= value <= most:
        raise QueryError(message, name)
    return int(value)


def _number(given: dict[str, Any], name: str, least: float, most: float, message: str) -> float | None:
    if name not in given:
        return None
    value = given[name]
    if not _is_number(value) or not least <= value <= most:
        raise QueryError(message, name)
    return float(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
