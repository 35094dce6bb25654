// Learn: training runs and tournaments, as they go on.
import { useEffect, useState } from "preact/hooks";
import { Chart, type Line } from "./chart";
import { type GenerationTable, type PairGame, type RunList, type RunView, type Tournament } from "./messages";
import { Select } from "./setup";
import { ask, drop, useConnected, useTopic } from "./talk";
import { fromServer, of, t, type Word } from "./words";

const GROUPS: [Word, RegExp][] = [
  ["losses", /loss|fresh_|entropy|divergence/],
  ["strength", /^elo$/],
  ["accuracy", /top\d|accuracy|^points|play_first|play_draws|play_resigned|match_/],
  ["speed", /per_second/],
  ["otherNumbers", /^(rate|games|positions|window|length|play_length|seconds)$/],
];
const TONES = ["a", "b", "c"];

export function Learn({
  name,
  onStudy,
  onGame,
}: {
  name: string;
  onStudy: (id: string) => void;
  onGame: (id: string) => void;
}) {
  const [list, setList] = useState<RunList | null>(null);
  const [problem, setProblem] = useState("");
  const run = useTopic("run");
  const refresh = () => void ask("runs.list", {}).then(setList, (error: Error) => setProblem(error.message));
  useConnected(refresh);
  useEffect(() => {
    const timer = setInterval(refresh, 10_000);
    return () => clearInterval(timer);
  }, []);
  useConnected(() => {
    if (name)
      void ask("runs.open", { name }).then(
        () => setProblem(""),
        (error: Error) => setProblem(error.message),
      );
  }, name);
  useEffect(
    () => () => {
      drop("run");
      void ask("runs.leave", {}).catch(() => undefined);
    },
    [name],
  );
  const shown = run !== null && run.name === name ? run : null;
  return (
    <main class="learn">
      <nav class="card runs" aria-label={t("runs")}>
        <h2>{t("runs")}</h2>
        {list?.runs.length === 0 && (
          <p class="quiet">
            {t("noRuns")} {list.folder}
          </p>
        )}
        <ul>
          {list?.runs.map((one) => (
            <li key={one.name}>
              <a href={`#/learn/${encodeURIComponent(one.name)}`} aria-current={one.name === name ? "page" : undefined}>
                {one.name}
                {Date.now() / 1000 - one.touched < 300 && <i class="live" title="●" />}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="run">
        {problem && (
          <p class="problem" role="alert">
            {fromServer(problem)}
          </p>
        )}
        {shown && <Run run={shown} onStudy={onStudy} onGame={onGame} onProblem={setProblem} />}
      </div>
    </main>
  );
}

function Run({
  run,
  onStudy,
  onGame,
  onProblem,
}: {
  run: RunView;
  onStudy: (id: string) => void;
  onGame: (id: string) => void;
  onProblem: (text: string) => void;
}) {
  const { name } = run;
  const open = (asked: Promise<{ id: string }>, then: (id: string) => void) =>
    void asked.then(
      ({ id }) => then(id),
      (error: Error) => onProblem(error.message),
    );
  return (
    <>
      <h2>{run.name}</h2>
      {run.lines > 0 && (
        <p class="quiet">
          {run.lines} {t("steps")}
        </p>
      )}
      {run.lines === 0 && !run.tournament && run.tables.length === 0 && <p class="quiet">{t("noNumbers")}</p>}
      <div class="charts">
        {GROUPS.flatMap(([title, pattern]) =>
          charts(run.series, pattern).map((lines, i) => (
            <section class="card" key={`${title}${i}`}>
              <h2>{t(title)}</h2>
              <Chart label={t(title)} lines={lines} height={130} />
            </section>
          )),
        )}
      </div>
      {run.models.length > 1 && (
        <Duel
          models={run.models}
          onPlay={(first, second) => open(ask("runs.duel", { name, first, second, komi: null }), onGame)}
        />
      )}
      {run.games.length > 0 && (
        <section class="card">
          <h2>{t("selfPlay")}</h2>
          <div class="row wrap">
            {run.games.map((game, index) => (
              <button key={index} onClick={() => open(ask("runs.replay", { name, index }), onStudy)}>
                g{game.generation} · {game.length} · {game.winner || "="}
              </button>
            ))}
          </div>
        </section>
      )}
      {run.duels.length > 0 && (
        <section class="card scroll" tabIndex={0}>
          <h2>{t("duels")}</h2>
          <table class="candidates">
            <tbody>
              {run.duels.map((round) => (
                <tr key={round.generation}>
                  <td>g{round.generation}</td>
                  <td>
                    {round.duels
                      .map(([other, wins, drawn, losses]) => `g${other} ${wins}-${losses}${drawn ? ` =${drawn}` : ""}`)
                      .join(", ")}
                  </td>
                  <td>{round.gate_promoted === null ? "" : round.gate_promoted ? t("promoted") : t("notPromoted")}</td>
                  <td>{round.elo === null ? "" : round.elo.toFixed(0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {run.tournament && (
        <CrossTable
          key={run.name}
          run={run.name}
          tournament={run.tournament}
          onGame={(pair, number) => open(ask("runs.game", { name, ...pair, number }), onStudy)}
          onProblem={onProblem}
        />
      )}
      {run.tables.map((table) => (
        <Generations
          key={table.name}
          table={table}
          onPlay={(first, second) =>
            open(ask("runs.duel", { name, first: `g${first}`, second: `g${second}`, komi: komiOf(table) }), onGame)
          }
        />
      ))}
      {Object.keys(run.settings).length > 0 && (
        <details class="card">
          <summary>{t("settings")}</summary>
          <dl class="settings-list">
            {Object.entries(run.settings).map(([key, value]) => (
              <div key={key}>
                <dt>{key}</dt>
                <dd>{String(value)}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}

/** Charts of the series whose names fit: those of about the same size together, three at most. */
export function charts(series: RunView["series"], pattern: RegExp): Line[][] {
  const named = Object.entries(series)
    .filter(([name]) => pattern.test(name))
    .sort((a, b) => size(b[1]) - size(a[1]));
  const groups: Line[][] = [];
  let largest = 0;
  named.forEach(([name, points]) => {
    const last = groups.at(-1);
    if (!last || last.length === 3 || size(points) < largest / 8) {
      largest = size(points);
      groups.push([{ name: fromServer(name.replaceAll("_", " ")), points, tone: TONES[0] }]);
    } else last.push({ name: fromServer(name.replaceAll("_", " ")), points, tone: TONES[last.length] });
  });
  return groups;
}

function size(points: [number, number][]): number {
  return Math.max(1e-9, ...points.map(([, y]) => Math.abs(y)));
}

function Duel({ models, onPlay }: { models: string[]; onPlay: (first: string, second: string) => void }) {
  const [first, setFirst] = useState(models.at(-1)!);
  const [second, setSecond] = useState(models[0]);
  const choices = models.map((name): [string, string] => [name, name]);
  return (
    <section class="card row wrap">
      <h2>{t("generation")}</h2>
      <Select label={`${t("generation")} 1`} value={first} choices={choices} onChange={setFirst} />
      <span>{t("against")}</span>
      <Select label={`${t("generation")} 2`} value={second} choices={choices} onChange={setSecond} />
      <button onClick={() => onPlay(first, second)}>{t("playIt")}</button>
    </section>
  );
}

type Pair = Pick<PairGame, "first"> & { second: string };

/** Every agent against every other; a cell opens the games of its pair. */
function CrossTable({
  run,
  tournament: { agents, pairs },
  onGame,
  onProblem,
}: {
  run: string;
  tournament: Tournament;
  onGame: (pair: Pair, number: number) => void;
  onProblem: (text: string) => void;
}) {
  const [chosen, setChosen] = useState<(Pair & { games: PairGame[] }) | null>(null);
  const scores = new Map<string, [number, string]>();
  pairs.forEach(([a, b, score, count]) => {
    scores.set(`${a}\n${b}`, [score, count]);
    scores.set(`${b}\n${a}`, [
      1 - score,
      count
        .split("-")
        .map((_, i, all) => all[[1, 0, 2][i]])
        .join("-"),
    ]);
  });
  const choose = (first: string, second: string) =>
    void ask("runs.pair", { name: run, first, second }).then(
      (games) => setChosen({ first, second, games }),
      (error: Error) => onProblem(error.message),
    );
  return (
    <>
      <section class="card scroll" tabIndex={0}>
        <h2>{t("crossTable")}</h2>
        <p class="quiet small-print">{t("crossTableHint")}</p>
        <table class="cross">
          <thead>
            <tr>
              <td />
              <th>{t("rating")}</th>
              {agents.map((_, i) => (
                <th key={i}>{i + 1}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {agents.map((row, i) => (
              <tr key={row.name}>
                <th title={row.spec}>
                  {i + 1}. {row.name}
                </th>
                <td>
                  {row.elo === null
                    ? ""
                    : `${row.elo.toFixed(0)}${row.elo_error ? ` ±${(1.96 * row.elo_error).toFixed(0)}` : ""}`}
                </td>
                {agents.map((column) => {
                  const found = scores.get(`${row.name}\n${column.name}`);
                  const here = chosen?.first === row.name && chosen.second === column.name;
                  return (
                    <Score
                      key={column.name}
                      score={found?.[0]}
                      title={found ? `${row.name} – ${column.name}: ${found[1]}` : ""}
                      here={here}
                      onChoose={() => choose(row.name, column.name)}
                    />
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {chosen && (
        <PairGames
          pair={chosen}
          games={chosen.games}
          onGame={(number) => onGame({ first: chosen.first, second: chosen.second }, number)}
        />
      )}
    </>
  );
}

/** A cell of a cross table, the redder the fewer points. */
function Score({
  score,
  title,
  here = false,
  onChoose,
}: {
  score: number | undefined;
  title: string;
  here?: boolean;
  onChoose: () => void;
}) {
  if (score === undefined) return <td />;
  return (
    <td class={`score ${here ? "here" : ""}`} style={{ "--share": score }}>
      <button title={title} aria-label={`${Math.round(score * 100)}: ${title}`} aria-pressed={here} onClick={onChoose}>
        {Math.round(score * 100)}
      </button>
    </td>
  );
}

function PairGames({ pair, games, onGame }: { pair: Pair; games: PairGame[]; onGame: (number: number) => void }) {
  return (
    <section class="card">
      <h2>
        {pair.first} – {pair.second} <span class="quiet">{games.length}</span>
      </h2>
      <div class="finished-games" tabIndex={0}>
        <table class="candidates games-table">
          <thead>
            <tr>
              <th>{t("gameNumber")}</th>
              <th>{t("movedFirst")}</th>
              <th>{t("winner")}</th>
              <th>{t("result")}</th>
              <th>{t("moves")}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {games.map((game) => (
              <tr key={game.number}>
                <td>{game.number}</td>
                <td>{game.first}</td>
                <td>{game.winner || t("draw")}</td>
                <td>{fromServer(game.result)}</td>
                <td>{game.moves}</td>
                <td>
                  <button
                    class="quiet-button"
                    aria-label={`${t("replay")} ${game.number}`}
                    title={t("replay")}
                    onClick={() => onGame(game.number)}
                  >
                    ▶
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function komiOf(table: GenerationTable): number | null {
  return typeof table.about.komi === "number" ? table.about.komi : null;
}

/** Generations of the first player in rows, of the second in columns; a cell lets the two play. */
function Generations({ table, onPlay }: { table: GenerationTable; onPlay: (first: number, second: number) => void }) {
  const numbers = [...new Set(table.pairs.flatMap(([first, second]) => [first, second]))].sort((a, b) => a - b);
  const cells = new Map(table.pairs.map((pair) => [`${pair[0]} ${pair[1]}`, pair]));
  const [first, second] = table.players.map((name) => of("player", name));
  const about = [
    table.about.komi !== undefined && `${t("komi")} ${table.about.komi}`,
    table.about.games && `${table.about.games} ${t("games").toLowerCase()}`,
  ]
    .filter(Boolean)
    .join(" · ");
  return (
    <section class="card scroll" tabIndex={0}>
      <h2>
        {t("generationTable")} <span class="quiet">{about}</span>
      </h2>
      <p class="quiet small-print">{t("generationTableHint")}</p>
      <table class="cross">
        <thead>
          <tr>
            <th>
              {first} \ {second}
            </th>
            {numbers.map((number) => (
              <th key={number}>{number}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {numbers.map((row) => (
            <tr key={row}>
              <th>{row}</th>
              {numbers.map((column) => {
                const found = cells.get(`${row} ${column}`);
                if (found === undefined) return <td key={column} />;
                const [, , won, drawn, lost] = found;
                const score = (won + drawn / 2) / Math.max(1, won + drawn + lost);
                return (
                  <Score
                    key={column}
                    score={score}
                    title={`${first} ${row} – ${second} ${column}: ${won}-${lost}-${drawn}`}
                    onChoose={() => onPlay(row, column)}
                  />
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
