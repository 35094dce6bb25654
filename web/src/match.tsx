// Match: agents play each other on the board, and a table grows as games end.
import { useState } from "preact/hooks";
import { Board } from "./board";
import { Chance, Chip, download, PlayerCard } from "./play";
import {
  Field,
  GameChoice,
  levelName,
  type Player,
  PlayerChoice,
  playerKey,
  possible,
  Select,
  useGameForm,
} from "./setup";
import {
  type Actions,
  type Catalogue,
  type MatchBoard,
  type MatchInfo,
  type MatchScore,
  type MatchView,
} from "./messages";
import { ask, type AskedOfOne, askOf, useConnected, useTopic } from "./talk";
import { aboutOf, fromServer, of, t, type Word } from "./words";

const PACES: [number, Word][] = [
  [0, "paceFast"],
  [0.5, "paceTwo"],
  [1, "paceOne"],
  [3, "paceSlow"],
];
const MOST_GAMES = 100;

export function MatchStart({ catalogue, onMatch }: { catalogue: Catalogue; onMatch: (id: string) => void }) {
  const usual = {
    a: { level: "casual", spec: "uct:playouts=1000" } as Player,
    b: { level: "beginner", spec: "uct:playouts=300" } as Player,
    games: 10,
  };
  const { form, set, game, options, levels, problem, setProblem } = useGameForm(catalogue, "match", usual);
  const [matches, setMatches] = useState<MatchInfo[] | null>(null);
  useConnected(() => void ask("match.list", {}).then(setMatches, () => setMatches([])));
  const [a, b] = [possible(form.a, levels), possible(form.b, levels)];
  const begin = () =>
    ask("match.new", {
      game: game.name,
      options,
      players: [playerKey(a), playerKey(b)],
      games: form.games,
    }).then(
      ({ id }) => onMatch(id),
      (error: Error) => setProblem(error.message),
    );
  return (
    <main class="setup">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        <h2>{t("newMatch")}</h2>
        <GameChoice
          catalogue={catalogue}
          game={game}
          given={form.given}
          onChange={(name, given) => set({ game: name, given })}
        />
        <PlayerChoice label={t("agentA")} player={a} levels={levels} onChange={(player) => set({ a: player })} />
        <PlayerChoice label={t("agentB")} player={b} levels={levels} onChange={(player) => set({ b: player })} />
        <Field label={t("games")}>
          <input
            type="number"
            min="1"
            max={MOST_GAMES}
            value={form.games}
            onChange={(e) =>
              set({ games: Math.max(1, Math.min(MOST_GAMES, Math.round(e.currentTarget.valueAsNumber) || 10)) })
            }
          />
        </Field>
        <p class="quiet small-print">{t("matchHint")}</p>
        {problem && (
          <p class="problem" role="alert">
            {fromServer(problem)}
          </p>
        )}
        <button class="primary" type="submit">
          {t("start")}
        </button>
      </form>
      <section class="card">
        <h2>{t("matches")}</h2>
        {matches?.length === 0 && <p class="quiet">{t("noMatches")}</p>}
        <ul class="games">
          {matches?.map((one) => (
            <li key={one.id}>
              <a href={`#/match/${one.id}`}>
                <strong>{sideNames(one.sides).join(" – ")}</strong>
                <span>
                  {fromServer(one.about)} · {one.summary.games} / {one.games}
                  {one.summary.games > 0 && ` · ${points(one.summary.a)} : ${points(one.summary.b)}`}
                </span>
              </a>
            </li>
          ))}
        </ul>
      </section>
    </main>
  );
}

export function Match({ id, onLeave, onStudy }: { id: string; onLeave: () => void; onStudy: (id: string) => void }) {
  const match = useTopic("match");
  const board = useTopic("matchBoard");
  const [problem, setProblem] = useState("");
  const act = <A extends AskedOfOne>(action: A, fields: Omit<Actions[A]["asks"], "id">) =>
    askOf(id, action, fields).then(
      (answer) => (setProblem(""), answer),
      (error: Error) => void setProblem(error.message),
    );
  useConnected(() => void ask("match.open", { id }).catch(onLeave));
  if (match?.id !== id || board?.id !== id) return <main class="loading">{problem || "…"}</main>;
  const names = sideNames(match.sides);
  const over = match.summary.games >= match.games;
  const replay = (number: number) => void act("match.replay", { number }).then((study) => study && onStudy(study.id));
  const save = (number: number) =>
    void act("match.save", { number }).then((file) => file && download(file.name, file.text));
  return (
    <main class="game match">
      <div class="board-side">
        <Board view={board} />
      </div>
      <aside class="panel">
        {[0, 1].map((side) => (
          <Agent key={side} match={match} board={board} side={side} name={names[side]} />
        ))}
        <div class="card status">
          <p class="headline" aria-live="polite">
            {t("gameNumber")} {board.round} / {match.games} ·{" "}
            {over
              ? t("finished")
              : match.underWay
                ? `${t("moveNumber")} ${board.number}`
                : match.waiting
                  ? t("waiting")
                  : t("stopped")}
          </p>
          <div class="chance-room">{board.chance !== null && <Chance game={board} />}</div>
          {[problem || match.problem, ...match.warnings].filter(Boolean).map((text) => (
            <p key={text} class="problem" role="alert">
              {fromServer(text)}
            </p>
          ))}
          <div class="row wrap">
            {!over &&
              (match.underWay || match.waiting ? (
                <button onClick={() => void act("match.pause", {})}>{t("stop")}</button>
              ) : (
                <button onClick={() => void act("match.resume", {})}>{t("goOn")}</button>
              ))}
            {!over && (
              <Select
                label={t("pace")}
                value={String(match.pace)}
                choices={PACES.map(([seconds, word]): [string, string] => [String(seconds), t(word)])}
                onChange={(seconds) => void act("match.pace", { seconds: Number(seconds) })}
              />
            )}
            <button onClick={onLeave}>{t("newMatch")}</button>
          </div>
        </div>
        <div class="card">
          <Standings match={match} names={names} />
        </div>
        <div class="card">
          <h2>
            {t("games")}{" "}
            <span class="quiet">
              {match.summary.games} / {match.games}
            </span>
          </h2>
          <div class="finished-games" tabIndex={0}>
            <table class="candidates games-table">
              <thead>
                <tr>
                  <th>{t("gameNumber")}</th>
                  <th>{of("player", match.players[0])}</th>
                  <th>{t("result")}</th>
                  <th>{t("moves")}</th>
                  <td />
                </tr>
              </thead>
              <tbody>
                {match.results.map((_, i, all) => (
                  <Finished
                    key={all.length - i}
                    match={match}
                    number={all.length - i}
                    names={names}
                    onReplay={replay}
                    onSave={save}
                  />
                ))}
              </tbody>
            </table>
          </div>
        </div>
        <p class="quiet small-print">
          {aboutOf(board) || fromServer(match.about)} · {t("matchMemory")}
        </p>
      </aside>
    </main>
  );
}

/** The names of both sides; where they are the same, A and B tell them apart. */
export function sideNames(sides: [string, string]): [string, string] {
  const [a, b] = sides.map(levelName);
  return a === b ? [`A · ${a}`, `B · ${b}`] : [a, b];
}

function Agent({ match, board, side, name }: { match: MatchView; board: MatchBoard; side: number; name: string }) {
  const player = (board.first === "a") === (side === 0) ? 1 : 2;
  const turn = match.underWay && !board.over && board.toPlay === player;
  return (
    <PlayerCard
      turn={turn}
      chip={<Chip game={board} player={player} />}
      name={name}
      about={match.sides[side].startsWith("spec:") ? of("player", match.players[player - 1]) : match.specs[side]}
    >
      <span class="captures">
        <b>{points(side === 0 ? match.summary.a : match.summary.b)}</b>
      </span>
    </PlayerCard>
  );
}

function Standings({ match, names }: { match: MatchView; names: [string, string] }) {
  const rows: [string, MatchScore][] = [
    [names[0], match.summary.a],
    [names[1], match.summary.b],
  ];
  return (
    <table class="candidates standings">
      <thead>
        <tr>
          <th>{t("agent")}</th>
          <th>{t("won")}</th>
          <th>{t("drawn")}</th>
          <th>{t("lost")}</th>
          <th>{t("share")}</th>
          <th>{t("interval")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, score]) => (
          <tr key={name}>
            <td title={name}>{name}</td>
            <td>{score.wins}</td>
            <td>{score.draws}</td>
            <td>{score.losses}</td>
            <td>
              <b>{score.score === null ? "–" : percent(score.score)}</b>
            </td>
            <td>{score.score === null ? "–" : <Interval score={score} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Interval({ score }: { score: MatchScore }) {
  const [low, high] = score.score_interval;
  return (
    <>
      {(low * 100).toFixed(0)} – {percent(high)}
      <i class="interval" aria-hidden="true">
        <i style={{ left: `${low * 100}%`, width: `${(high - low) * 100}%` }} />
        <b style={{ left: `${score.score! * 100}%` }} />
      </i>
    </>
  );
}

function Finished({
  match,
  number,
  names,
  onReplay,
  onSave,
}: {
  match: MatchView;
  number: number;
  names: [string, string];
  onReplay: (number: number) => void;
  onSave: (number: number) => void;
}) {
  const [first, winner, result, ending, reason, moves] = match.results[number - 1];
  const name = winner === null ? t("draw") : names[winner === "a" ? 0 : 1];
  return (
    <tr>
      <td>{number}</td>
      <td class={winner === first ? "winner" : ""}>{names[first === "a" ? 0 : 1]}</td>
      <td title={[name, of("reason", ending), reason].filter(Boolean).join(" · ")}>{fromServer(result)}</td>
      <td>{moves}</td>
      <td>
        <button
          class="quiet-button"
          aria-label={`${t("replay")} ${number}`}
          title={t("replay")}
          onClick={() => onReplay(number)}
        >
          ▶
        </button>
        <button
          class="quiet-button"
          aria-label={`${t("save")} ${number}`}
          title={t("save")}
          onClick={() => onSave(number)}
        >
          ⤓
        </button>
      </td>
    </tr>
  );
}

export function points(score: MatchScore): string {
  const whole = score.wins + Math.floor(score.draws / 2);
  return `${whole || score.draws % 2 === 0 ? whole : ""}${score.draws % 2 ? "½" : ""}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)}%`;
}
