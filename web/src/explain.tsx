// Explain: the search of a position, one simulation at a time.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Board, type Mark } from "./board";
import { squaresOf } from "./coordinates";
import { brief } from "./estimates";
import { type SearchView, type View } from "./messages";
import { Analysts, type Study, useWalking, Walk } from "./study";
import { drop, useConnected, useTopic } from "./talk";
import { fromServer, t, type Word } from "./words";

type BoardName = keyof SearchView["boards"];
const BOARDS: BoardName[] = ["prior", "value", "q", "rollouts", "visits"];

export function Explain({ study }: { study: Study }) {
  const { id, tree, position, act, play, problem } = study;
  const search = useTopic("search");
  const steppable = tree.analysts.filter((spec) => !/^(uct|gumbel)/.test(spec));
  const [spec, setSpec] = useState(steppable[0] ?? "mcts");
  const [busy, setBusy] = useState(false);
  const start = () => void act("explain.start", { spec });
  const step = (count: number) => {
    if (busy) return;
    setBusy(true);
    void act("explain.step", { count }).finally(() => setBusy(false));
  };
  useWalking(study, { s: () => step(1) });
  useConnected(start, `${id} ${position.node} ${spec}`);
  useEffect(() => () => drop("search"), [id, position.node]);

  const shown = search?.position ?? position;
  const marks = useMemo(() => marksOf(search), [search]);
  return (
    <main class="game study explain">
      <div class="board-side">
        <Board
          view={shown}
          onMove={!shown.over && (search === null || search.node === 0) ? play : undefined}
          marks={marks}
        />
        <Walk study={study} />
      </div>
      <aside class="panel">
        <div class="card status">
          <div class="row">
            <Analysts tree={{ ...tree, analysts: steppable }} spec={spec} onChange={setSpec} />
          </div>
          <p class="headline" aria-live="polite">
            {search?.simulations ?? 0} {t("simulations")}
          </p>
          <p class="quiet small-print legend-line">
            <i class="key best" /> {t("mostVisited")} <i class="key next" /> {t("nextSimulation")}
          </p>
          {problem && (
            <p class="problem" role="alert">
              {fromServer(problem)}
            </p>
          )}
          <div class="row wrap">
            <button class="primary" disabled={busy || !search} onClick={() => step(1)}>
              {t("stepOne")} <kbd>S</kbd>
            </button>
            {[10, 100].map((count) => (
              <button key={count} disabled={busy || !search} onClick={() => step(count)}>
                +{count}
              </button>
            ))}
            <button onClick={start}>{t("fromStart")}</button>
          </div>
        </div>
        {search && search.path.length > 0 && (
          <div class="card">
            <h2>{t("lastSimulation")}</h2>
            <p class="quiet small-print">{t("lastSimulationHint")}</p>
            <ol class="path">
              {search.path.map((node, i) => (
                <li key={node.node}>
                  <button
                    aria-pressed={search.node === node.node}
                    onClick={() => void act("explain.node", { node: node.node })}
                  >
                    {i === 0 ? t("rootNode") : node.move}
                  </button>
                  <span>
                    N {node.oldN} → <b>{node.N}</b>
                  </span>
                  <span>
                    W {node.oldW.toFixed(2)} → <b>{node.W.toFixed(2)}</b>
                  </span>
                  {i === search.path.length - 1 && node.v !== null && <span class="leaf">v = {node.v.toFixed(3)}</span>}
                </li>
              ))}
            </ol>
          </div>
        )}
        <a class="button" href={`#/analyse/${id}`}>
          {t("toAnalysis")}
        </a>
      </aside>
      {search && (
        <section class="wide-part">
          <div class="card">
            <div class="row wrap">
              <h2>{t("theTree")}</h2>
              <nav class="crumbs" aria-label={t("theTree")}>
                {search.line.map((each, i) => (
                  <button
                    key={each.node}
                    aria-current={each.node === search.node ? "true" : undefined}
                    onClick={() => void act("explain.node", { node: each.node })}
                  >
                    {i === 0 ? t("rootNode") : each.move}
                  </button>
                ))}
              </nav>
              <span class="quiet">
                N {search.numbers.N} · W {search.numbers.W.toFixed(2)} · {t("unvisitedQ")} {search.urgency.toFixed(3)}
              </span>
            </div>
            <p class="quiet small-print">{t("signs")}</p>
            <Children search={search} onNode={(node) => void act("explain.node", { node })} />
          </div>
          <div class="boards">
            {BOARDS.filter((name) => search.boards[name]).map((name) => (
              <figure key={name}>
                <Board
                  view={position}
                  small
                  marks={labelsOf(position, search.boards[name]!, name)}
                  heat={heatOf(position, search.boards[name]!, name)}
                  heatTone={name === "prior" ? "prior" : name === "visits" ? "visits" : "value"}
                />
                <figcaption>{t(`board.${name}` as Word)}</figcaption>
              </figure>
            ))}
          </div>
        </section>
      )}
    </main>
  );
}

function Children({ search, onNode }: { search: SearchView; onNode: (node: number) => void }) {
  const went = new Set(search.path.map((node) => node.node));
  return (
    <div class="scroll" tabIndex={0}>
      <table class="candidates numbers">
        <thead>
          <tr>
            <th>{t("move")}</th>
            {["N", "W", "Q", "P", "u", "Q + u", "v"].map((name) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {search.children.slice(0, 14).map((each, i) => {
            const q = each.Q ?? search.urgency;
            return (
              <tr key={each.node} class={`${went.has(each.node) ? "went" : ""} ${i === 0 ? "next" : ""}`}>
                <td>
                  <button class="quiet-button" disabled={each.children === 0} onClick={() => onNode(each.node)}>
                    {each.move}
                  </button>
                  {each.stage === "solved" && " ✓"}
                </td>
                <td>{each.N}</td>
                <td>{each.W.toFixed(2)}</td>
                <td class={each.Q === null ? "quiet" : ""}>{q.toFixed(3)}</td>
                <td>{(each.P * 100).toFixed(1)}%</td>
                <td>{each.u.toFixed(3)}</td>
                <td>
                  <b>{(q + each.u).toFixed(3)}</b>
                  <i class="meter" style={{ width: `${Math.max(2, Math.min(100, (q + each.u + 1) * 33))}%` }} />
                </td>
                <td>{each.v === null ? "" : each.v.toFixed(3)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** On the big board: the visits of each move of the node shown, the most visited as in Analyse; a ring is where the next simulation goes. */
function marksOf(search: SearchView | null): Mark[] {
  if (!search) return [];
  const next = search.children[0]?.node;
  return search.children
    .filter((each) => each.N > 0 || each.node === next)
    .sort((a, b) => b.N - a.N || b.P - a.P)
    .flatMap((each, i): Mark[] => {
      const squares = squaresOf(search.position, each.move);
      if (squares.length === 0) return [];
      const from = search.position.board === "chess" ? squares[0] : undefined;
      const seen: Partial<Mark> =
        each.N > 0
          ? { text: brief(each.N), sub: `${((each.Q! + 1) * 50).toFixed(0)}%`, tone: i === 0 ? "best" : "plain" }
          : {};
      return [{ at: squares.at(-1)!, from, next: each.node === next, ...seen }];
    });
}

function shareOf(numbers: Record<string, number>, name: BoardName): (value: number) => number {
  const most = Math.max(1e-9, ...Object.values(numbers));
  const least = Math.min(most - 1e-9, ...Object.values(numbers));
  return (value) =>
    name === "prior" || name === "visits" ? Math.sqrt(value / most) : (value - least) / (most - least);
}

function heatOf(view: View, numbers: Record<string, number>, name: BoardName): Map<number, number> {
  const heat = new Map<number, number>();
  const share = shareOf(numbers, name);
  Object.entries(numbers).forEach(([move, value]) => {
    const spot = squaresOf(view, move).at(-1);
    if (spot !== undefined && share(value) > 0.05) heat.set(spot, Math.max(heat.get(spot) ?? 0, share(value) * 0.85));
  });
  return heat;
}

function labelsOf(view: View, numbers: Record<string, number>, name: BoardName): Mark[] {
  const ranked = Object.entries(numbers)
    .sort(([, a], [, b]) => b - a)
    .slice(0, view.cols > 13 ? 3 : 9);
  return ranked.flatMap(([move, value]): Mark[] => {
    const text = name === "visits" ? brief(value) : String(Math.round(value * 100));
    return text === "0"
      ? []
      : squaresOf(view, move)
          .slice(-1)
          .map((at) => ({ at, text }));
  });
}
