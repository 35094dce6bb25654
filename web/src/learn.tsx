// Learn: training runs and tournaments, as they go on.
import { useEffect, useState } from "preact/hooks";
import { Chart, type Line } from "./chart";
import { Select } from "./setup";
import { ask, drop, useConnected, useTopic } from "./talk";
import { t, type Word } from "./words";

type Series = Record<string, [number, number][]>;
interface Tournament {
  agents: { name: string; spec: string; elo: number | null; elo_error: number | null; score: number | null }[];
  pairs: [string, string, number, string][];
  games: number | null;
}
interface RunView {
  name: string;
  touched: number;
  settings: Record<string, string | number | boolean>;
  lines: number;
  series: Series;
  duels: { generation: number; duels: [number, number, number, number][]; elo: number | null; gate_promoted: boolean | null }[];
  games: { generation: number; winner: number; length: number }[];
  models: string[];
  tournament: Tournament | null;
}
const GROUPS: [Word, RegExp][] = [
  ["losses", /loss|fresh_|entropy|divergence/],
  ["strength", /^elo$/],
  ["accuracy", /top\d|accuracy|^points|play_first|play_draws|play_resigned|match_/],
  ["speed", /per_second/],
  ["otherNumbers", /^(rate|games|positions|window|length|play_length|seconds)$/],
];
const TONES = ["a", "b", "c"];

export function Learn({ name, onStudy, onGame }: { name: string; onStudy: (id: string) => void; onGame: (id: string) => void }) {
  const [list, setList] = useState<{ folder: string; runs: { name: string; touched: number }[] } | null>(null);
  const [problem, setProblem] = useState("");
  const run = useTopic<RunView>("run");
  const refresh = () => void ask("runs.list").then(setList, (error: Error) => setProblem(error.message));
  useConnected(refresh, []);
  useEffect(() => {
    const timer = setInterval(refresh, 10_000);
    return () => clearInterval(timer);
  }, []);
  useConnected(() => { if (name) void ask("runs.open", { name }).then(() => setProblem(""), (error: Error) => setProblem(error.message)); }, [name]);
  useEffect(() => () => { drop("run"); void ask("runs.leave").catch(() => undefined); }, [name]);
  const shown = run !== null && run.name === name ? run : null;
  return (
    <main class="learn">
      <nav class="card runs" aria-label={t("runs")}>
        <h2>{t("runs")}</h2>
        {list?.runs.length === 0 && <p class="quiet">{t("noRuns")} {list.folder}</p>}
        <ul>
          {list?.runs.map((one) => (
            <li key={one.name}>
              <a href={`#/learn/${encodeURIComponent(one.name)}`} aria-current={one.name === name ? "page" : undefined}>
                {one.name}{Date.now() / 1000 - one.touched < 300 && <i class="live" title="●" />}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="run">
        {problem && <p class="problem" role="alert">{problem}</p>}
        {shown && <Run run={shown} onStudy={onStudy} onGame={onGame} onProblem={setProblem} />}
      </div>
    </main>
  );
}

function Run({ run, onStudy, onGame, onProblem }: { run: RunView; onStudy: (id: string) => void; onGame: (id: string) => void; onProblem: (text: string) => void }) {
  const open = (action: string, fields: Record<string, unknown>, then: (id: string) => void) =>
    void ask<{ id: string }>(action, { name: run.name, ...fields }).then(({ id }) => then(id), (error: Error) => onProblem(error.message));
  return (
    <>
      <h1>{run.name}</h1>
      {run.lines > 0 && <p class="quiet">{run.lines} {t("steps")}</p>}
      <div class="charts">
        {GROUPS.flatMap(([title, pattern]) => charts(run.series, pattern).map((lines, i) => (
          <section class="card" key={`${title}${i}`}>
            <h2>{t(title)}</h2>
            <Chart label={t(title)} lines={lines} height={130} />
          </section>
        )))}
      </div>
      {run.models.length > 1 && <Duel models={run.models} onPlay={(first, second) => open("runs.duel", { first, second }, onGame)} />}
      {run.games.length > 0 && (
        <section class="card">
          <h2>{t("selfPlay")}</h2>
          <div class="row wrap">
            {run.games.map((game, index) => (
              <button key={index} onClick={() => open("runs.replay", { index }, onStudy)}>g{game.generation} · {game.length} · {game.winner || "="}</button>
            ))}
          </div>
        </section>
      )}
      {run.duels.length > 0 && (
        <section class="card scroll">
          <h2>{t("duels")}</h2>
          <table class="candidates">
            <tbody>
              {run.duels.map((round) => (
                <tr key={round.generation}>
                  <td>g{round.generation}</td>
                  <td>{round.duels.map(([other, wins, drawn, losses]) => `g${other} ${wins}-${losses}${drawn ? ` =${drawn}` : ""}`).join(", ")}</td>
                  <td>{round.gate_promoted === null ? "" : round.gate_promoted ? t("promoted") : t("notPromoted")}</td>
                  <td>{round.elo === null ? "" : round.elo.toFixed(0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {run.tournament && <CrossTable tournament={run.tournament} />}
      {Object.keys(run.settings).length > 0 && (
        <details class="card">
          <summary>{t("settings")}</summary>
          <dl class="settings-list">{Object.entries(run.settings).map(([key, value]) => <div key={key}><dt>{key}</dt><dd>{String(value)}</dd></div>)}</dl>
        </details>
      )}
    </>
  );
}

/** Charts of the series whose names fit: those of about the same size together, three at most. */
function charts(series: Series, pattern: RegExp): Line[][] {
  const named = Object.entries(series).filter(([name]) => pattern.test(name)).sort((a, b) => size(b[1]) - size(a[1]));
  const groups: Line[][] = [];
  let largest = 0;
  named.forEach(([name, points]) => {
    const last = groups.at(-1);
    if (!last || last.length === 3 || size(points) < largest / 8) {
      largest = size(points);
      groups.push([{ name: name.replaceAll("_", " "), points, tone: TONES[0] }]);
    } else last.push({ name: name.replaceAll("_", " "), points, tone: TONES[last.length] });
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
      <Select value={first} choices={choices} onChange={setFirst} />
      <span>{t("against")}</span>
      <Select value={second} choices={choices} onChange={setSecond} />
      <button onClick={() => onPlay(first, second)}>{t("playIt")}</button>
    </section>
  );
}

function CrossTable({ tournament: { agents, pairs } }: { tournament: Tournament }) {
  const scores = new Map<string, [number, string]>();
  pairs.forEach(([a, b, score, count]) => {
    scores.set(`${a}\n${b}`, [score, count]);
    scores.set(`${b}\n${a}`, [1 - score, count.split("-").map((_, i, all) => all[[1, 0, 2][i]]).join("-")]);
  });
  return (
    <section class="card scroll">
      <h2>{t("crossTable")}</h2>
      <table class="cross">
        <thead><tr><th /><th>{t("rating")}</th>{agents.map((_, i) => <th key={i}>{i + 1}</th>)}</tr></thead>
        <tbody>
          {agents.map((row, i) => (
            <tr key={row.name}>
              <th title={row.spec}>{i + 1}. {row.name}</th>
              <td>{row.elo === null ? "" : `${row.elo.toFixed(0)}${row.elo_error ? ` ±${(1.96 * row.elo_error).toFixed(0)}` : ""}`}</td>
              {agents.map((column) => {
                const found = scores.get(`${row.name}\n${column.name}`);
                return <td key={column.name} class="score" title={found ? `${row.name} – ${column.name}: ${found[1]}` : ""} style={found ? { "--share": found[0] } : {}}>{found ? Math.round(found[0] * 100) : ""}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
