"""KataGo's analysis engine: queries come in as JSON, one a line, and answers go out as they are ready.

Positions of all queries are analysed side by side, those of the highest priority first. Every position gets exactly one
answer that is not `isDuringSearch`. When the input ends, what was asked is still answered. `kata_query.py` reads the
queries.
"""

import hashlib
import heapq
import itertools
import json
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Final, TextIO

import numpy as np

from tengen import __version__
from tengen.agents.agent import AgentError
from tengen.agents.analysis import Analysis, Analyst
from tengen.agents.batch_analysis import AnalysisTask, BatchAnalyser, batch_analyser
from tengen.games import go
from tengen.games.go import BLACK
from tengen.serve.gtp_analysis import move_fields, root_fields
from tengen.serve.kata_query import PERSPECTIVES, Query, QueryError, parse_query

_LONGEST_LINE: Final = 16 << 20
_MOST_WAITING: Final = 1000  # lines that are read ahead
_ACTIONS: Final = ("query_version", "clear_cache", "terminate", "terminate_all", "query_models")


@dataclass
class _QueryTurn:
    """A position of a query, waiting or under way."""

    query: Query
    turn: int
    next_report: float = 0.0
    is_started: bool = False
    is_ended: bool = False

    @property
    def state(self) -> go.State:
        return self.query.states[self.turn]


class KataServer:
    """An analysis engine. `run` answers until the input has ended and everything is answered."""

    def __init__(
        self,
        agents: Sequence[Callable[[], Analyst]],
        queries: BinaryIO,
        answers: BinaryIO,
        *,
        visits: int = 100,
        positions: int = 64,
        perspective: str = "BLACK",
        log: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`agents`: the first that can play a query's game analyses it; all but the first are loaded when they are
        wanted. `visits`: where a query names none. `positions`: how many are analysed at a time. `perspective`: whose
        numbers are reported, BLACK, WHITE or SIDETOMOVE."""
        if perspective not in PERSPECTIVES:
            raise ValueError(f"the perspective is {perspective}: choose from {', '.join(PERSPECTIVES)}")
        self._makers, self._input, self._output = agents, queries, answers
        self._agents: dict[int, Analyst] = {}
        self._searches: dict[int, BatchAnalyser] = {}
        self.agent(0)
        self._visits, self._perspective, self._room = visits, perspective, positions
        self._log, self._now = log or sys.stderr, now
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MOST_WAITING)
        self._waiting: list[tuple[int, int, _QueryTurn]] = []  # a heap: the highest priority first, then the first
        self._under_way: dict[int, _QueryTurn] = {}
        self._numbers = itertools.count()
        self._has_ended = False

    @property
    def batch_stats(self) -> str:
        """One line: how many positions there were, and how full the batches."""
        lines = []
        for search in self._searches.values():
            stats = search.stats
            lines.append(f"{stats.positions} positions")
            if stats.batches:
                lines[-1] += (
                    f", {stats.leaves} leaves in {stats.batches} batches of up to {stats.room}, filled to"
                    f" {stats.share:.0%}; {stats.evaluations} evaluations"
                )
        return "; ".join(lines) or "0 positions"

    def agent(self, number: int) -> Analyst:
        """One of the agents, loaded if it has not been yet."""
        if number not in self._agents:
            self._agents[number] = self._makers[number]()
        return self._agents[number]

    def _search(self, number: int) -> BatchAnalyser:
        """Where that agent's positions are searched."""
        if number not in self._searches:
            self._searches[number] = batch_analyser(self.agent(number), self._room, self._now)
        return self._searches[number]

    def run(self) -> None:
        """Answer every query."""
        threading.Thread(target=self._read, name="queries", daemon=True).start()
        try:
            while self._listen():
                self._fill()
                for search in [*self._searches.values()]:
                    for key, analysis in search.step():
                        assert isinstance(key, int)
                        self._report(self._under_way.pop(key), analysis)
                        self._hear()
                self._report_during_search()
        except BrokenPipeError:
            return
        finally:
            for agent in self._agents.values():
                agent.close()

    # --------------------------------------------------------------------------------------------- input

    def _read(self) -> None:
        try:
            while line := self._input.readline(_LONGEST_LINE):
                self._lines.put(line)
        except (OSError, ValueError):  # the stream is gone
            pass
        self._lines.put(None)

    def _listen(self) -> bool:
        """Take the lines that have come, waiting for one if there is nothing to do; False once all is done."""
        self._hear()
        while not (self._waiting or self._under_way):
            if self._has_ended:
                return False
            self._take(self._lines.get())
            self._hear()
        return True

    def _hear(self) -> None:
        """Take the lines that have come."""
        while True:
            try:
                line = self._lines.get(block=False)
            except queue.Empty:
                return
            self._take(line)

    def _take(self, line: bytes | None) -> None:
        if line is None:
            self._has_ended = True
        elif line.strip():
            self.obey(line)

    def obey(self, line: bytes) -> None:
        """Do what a line asks for. It never raises, but for BrokenPipeError."""
        given: Any = None
        try:
            try:
                given = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise QueryError(f"{error} - could not parse input line as json request: {_short(line)}") from None
            if not isinstance(given, dict):
                raise QueryError(f"Request line was valid json but was not an object, ignoring: {_short(line)}")
            if not isinstance(given.get("id"), str):
                raise QueryError('Request must have a string "id" field')
            if isinstance(given.get("action"), str):
                self._act(given)
            else:
                self._enqueue(given)
        except BrokenPipeError:
            raise
        except QueryError as error:
            named = {} if error.field is None else {"field": error.field, "id": given["id"]}
            self._send({"error": str(error), **named})
        except Exception as error:
            traceback.print_exc(file=self._log)
            named = {"id": given["id"]} if isinstance(given, dict) and isinstance(given.get("id"), str) else {}
            self._send({"error": f"internal error: {type(error).__name__}: {error}"[:500], **named})

    def _enqueue(self, given: dict[str, Any]) -> None:
        query = parse_query(given, [partial(self._supports, number) for number in range(len(self._makers))])
        for name, text in query.warnings:
            self._send({"id": query.id, "field": name, "warning": text})
        for turn, priority in query.priorities.items():
            heapq.heappush(self._waiting, (-priority, next(self._numbers), _QueryTurn(query, turn)))

    def _supports(self, number: int, state: go.State) -> bool:
        try:
            self.agent(number).analyse(state)
        except AgentError:
            return False
        return True

    def _act(self, given: dict[str, Any]) -> None:
        action = given["action"]
        if action == "query_version":
            given = {**given, "version": __version__, "git_hash": "<omitted>"}
        elif action == "query_models":
            about = {"maxBatchSize": self._room, "usesHumanSLProfile": False, "version": 1, "usingFP16": "false"}
            names = [agent.name for agent in self._agents.values()]
            given = {**given, "models": [{"name": name, "internalName": name, **about} for name in names]}
        elif action in ("terminate", "terminate_all"):
            self._terminate(given)
            return
        elif action != "clear_cache":  # nothing outlives the analysis of a position but what a network said of others
            raise QueryError(f"'action' field must be one of {', '.join(_ACTIONS)}")
        self._send(given)

    def _terminate(self, given: dict[str, Any]) -> None:
        """Confirm, and end positions that wait or are under way: they have no results."""
        wanted, turns = given.get("terminateId"), given.get("turnNumbers")
        if given["action"] == "terminate" and not isinstance(wanted, str):
            message = 'Requests for a terminate action must have a string "terminateId" field'
            raise QueryError(message, "terminateId")
        if turns is not None and not (isinstance(turns, list) and all(isinstance(turn, int) for turn in turns)):
            message = "If provided, must be an array of integers indicating turns to terminate"
            raise QueryError(message, "turnNumbers")

        def is_meant(position: _QueryTurn) -> bool:
            named = given["action"] == "terminate_all" or position.query.id == wanted
            return named and (turns is None or position.turn in turns)

        self._send(given)
        for entry in [entry for entry in self._waiting if is_meant(entry[2])]:
            self._waiting.remove(entry)
            self._report(entry[2], None)
        heapq.heapify(self._waiting)
        for key in [key for key, position in self._under_way.items() if is_meant(position)]:
            position = self._under_way.pop(key)
            self._search(position.query.agent).cancel(key)
            self._report(position, None)

    # -------------------------------------------------------------------------------------------- searching

    def _fill(self) -> None:
        """Start as many positions as there is room for."""
        left = []
        while self._waiting:
            entry = heapq.heappop(self._waiting)
            if not self._start(entry[1], entry[2]):
                left.append(entry)
                if len(left) > self._room or len(self._under_way) >= self._room:
                    break
        for entry in left:
            heapq.heappush(self._waiting, entry)

    def _start(self, key: int, position: _QueryTurn) -> bool:
        query, state = position.query, position.state
        avoid = query.avoid.get(state.to_play, frozenset())
        if avoid and not set(state.legal_moves()) - avoid:
            avoid = frozenset()
        task = AnalysisTask(state, query.visits or self._visits, query.seconds, avoid)
        if not self._search(query.agent).start(key, task):
            return False
        position.next_report = self._now() + query.first_report
        self._under_way[key] = position
        return True

    def _report_during_search(self) -> None:
        for key, position in self._under_way.items():
            if self._now() >= position.next_report:
                position.next_report = self._now() + position.query.report_every
                analysis = self._search(position.query.agent).snapshot(key)
                if analysis.visits:
                    self._report(position, analysis, is_final=False)

    # ---------------------------------------------------------------------------------------------- output

    def _report(self, position: _QueryTurn, analysis: Analysis | None, is_final: bool = True) -> None:
        head = {"id": position.query.id, "isDuringSearch": not is_final, "turnNumber": position.turn}
        if analysis is None:
            self._send({**head, "noResults": True})
        else:
            perspective = position.query.perspective or self._perspective
            self._send({**head, **as_json(analysis, position.state, position.query, perspective)})

    def _send(self, fields: dict[str, Any]) -> None:
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        self._output.write(text.encode("ascii") + b"\n")
        self._output.flush()


def as_json(analysis: Analysis, state: go.State, query: Query, perspective: str) -> dict[str, Any]:
    """The fields of an answer that an analysis gives."""
    turned = perspective != "SIDETOMOVE" and (perspective == "BLACK") != (state.to_play == BLACK)
    sign = -1 if turned else 1
    infos = []
    for move in analysis.moves:
        if not move.visits:
            continue
        line = move.pv[: query.pv_length]
        info = {"move": state.move_name(move.move), **_rounded(move_fields(analysis, move, sign))}
        info["pv"] = [state.move_name(each) for each in line]
        if query.pv_visits:
            info["pvVisits"] = list(move.pv_visits[: query.pv_length])
        if query.moves_ownership and move.ownership is not None:
            info["ownership"] = _numbers(sign * move.ownership)
        infos.append(info)
    best = analysis.moves[0].bound if analysis.moves else analysis.chance
    root = {**_rounded(root_fields(analysis, sign)), "lcb": round(1 - best if turned else best, 6)}
    root |= {"currentPlayer": "B" if state.to_play == BLACK else "W", **_hashes(state)}
    found: dict[str, Any] = {"moveInfos": infos, "rootInfo": root}
    if query.ownership and analysis.ownership is not None:
        found["ownership"] = _numbers(sign * analysis.ownership)
    if query.policy:
        found["policy"] = _policy(analysis, state)
    return found


def _policy(analysis: Analysis, state: go.State) -> list[float]:
    """What is thought of every point, and of the pass, before any search; -1 where a move is not legal."""
    policy = np.full(state.size**2 + 1, -1.0)
    policy[[state.action_of(move) for move in state.legal_moves()]] = 0.0
    for move in analysis.moves:
        policy[state.action_of(move.move)] = move.prior
    return _numbers(policy)


def _hashes(state: go.State) -> dict[str, str]:
    """Of the position, and of all positions that it is turned or mirrored to."""
    turned = [np.rot90(board, turns) for board in (state.stones, state.stones.T) for turns in range(4)]
    hashes = [hashlib.blake2b(board.tobytes() + bytes([state.to_play]), digest_size=16) for board in turned]
    names = [each.hexdigest().upper() for each in hashes]
    return {"thisHash": names[0], "symHash": min(names)}


def _numbers(values: Any) -> list[float]:
    return [round(float(value), 6) for value in values]


def _rounded(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in fields.items()}


def _short(line: bytes) -> str:
    return line.strip()[:200].decode("utf-8", "replace")
