// Analyse: walk through a record, try moves, and see what an agent thinks of them.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { aboutOf } from "./about";
import { Board, type Mark } from "./board";
import { Chart } from "./chart";
import { download } from "./play";
import { asOptions, Field, GameChoice, OpenRecord, Select } from "./setup";
import { type AnalysisView, type Catalogue, type GraphView, type MoveInfo, squaresOf, type StudyPosition, type StudyTree } from "./shapes";
import { ask, drop, useConnected, useTopic } from "./talk";
import { childrenOf, lineThrough, MoveTree } from "./tree";
import { fromServer, head, of, t, type Word } from "./words";

type Layer = "candidates" | "prior" | "visits" | "value" | "ownership" | "nothing";
const LAYERS: Layer[] = ["candidates", "prior", "visits", "value", "ownership", "nothing"];
const SHOWN = 8; // moves in the table
const NOTCH = 50; // pixels that the wheel has to turn for a move
const SERIOUS = 0.06; // how much of the chance a mistake costs

interface ListedStudy {
  id: string;
  about: string;
  names: [string, string];
  result: string;
  positions: number;
}

export function AnalyseStart({ catalogue, part, onStudy, empty }: { catalogue: Catalogue; part: string; onStudy: (id: string) => void; empty?: Word }) {
  const [name, setName] = useState("go");
  const [given, setGiven] = useState<Record<string, string | number | boolean>>({ size: 9 });
  const [problem, setProblem] = useState("");
  const [studies, setStudies] = useState<ListedStudy[] | null>(null);
  useConnected(() => void ask<ListedStudy[]>("study.list").then(setStudies, () => setStudies([])), []);
  const game = catalogue.games.find((one) => one.name === name)!;
  const begin = (action: string, fields: Record<string, unknown>) =>
    void ask<{ id: string }>(action, fields).then(({ id }) => onStudy(id), (error: Error) => setProblem(error.message));
  return (
    <main class="setup">
      <div class="column">
        {empty && <p class="quiet">{t(empty)}</p>}
        <OpenRecord onRecord={(record) => begin("study.load", record)} />
        {problem && <p class="problem" role="alert">{fromServer(problem)}</p>}
        <section class="card">
          <h2>{t("yourStudies")}</h2>
          {studies?.length === 0 && <p class="quiet">{t("noStudies")}</p>}
          <ul class="games">
            {studies?.map((one) => {
              const title = one.names.filter(Boolean).join(" – ") || fromServer(one.about);
              return (
                <li key={one.id}>
                  <a href={`#/${part}/${one.id}`}>
                    <strong>{title}</strong>
                    <span>{[fromServer(one.about), `${one.positions} ${t("positions")}`, fromServer(one.result)].filter(Boolean).join(" · ")}</span>
                  </a>
                  <button class="quiet-button" aria-label={`${t("remove")}: ${title}`} onClick={() => void ask("study.remove", { id: one.id }).then(() => setStudies(studies.filter((other) => other.id !== one.id)))}>✕</button>
                </li>
              );
            })}
          </ul>
        </section>
      </div>
      <form class="card" onSubmit={(event) => { event.preventDefault(); begin("study.new", { game: name, options: asOptions(game, given) }); }}>
        <h2>{t("emptyBoard")}</h2>
        <GameChoice catalogue={catalogue} game={game} given={given} onChange={(chosen, options) => { setName(chosen); setGiven(options); }} />
        <button class="primary" type="submit">{t("start")}</button>
      </form>
    </main>
  );
}

/** A study that is there: its tree and position, and how to move in it. */
export interface Study {
  id: string;
  tree: StudyTree;
  position: StudyPosition;
  children: number[][];
  problem: string;
  go: (node: number | undefined) => void;
  play: (move: string) => void;
  step: (by: number) => void;
  sibling: (by: number) => void;
  act: (action: string, fields?: Record<string, unknown>) => Promise<any>;
}

/** Opens a study and shows it once it is there. */
export function WithStudy({ id, onGone, children: show }: { id: string; onGone: () => void; children: (study: Study) => preact.ComponentChild }) {
  const tree = useTopic<StudyTree>("study");
  const position = useTopic<StudyPosition>("position");
  const [problem, setProblem] = useState("");
  const aim = useRef({ node: 0, asked: false }); // where we are, or asked to go: keys are faster than the server and than drawing
  const act = (action: string, fields: Record<string, unknown> = {}) =>
    ask(action, { id, ...fields }).then((answer) => (setProblem(""), answer), (error: Error) => setProblem(error.message));
  useConnected(() => void ask("study.open", { id }).catch(() => setProblem(t("studyGone"))), [id]);
  useEffect(() => () => ["study", "position", "analysis", "graph"].forEach(drop), [id]);
  const children = useMemo(() => (tree ? childrenOf(tree) : []), [tree]);
  if (tree === null || tree.id !== id || position === null || position.node >= tree.parents.length) return <main class="loading">{problem ? <><p class="problem" role="alert">{problem}</p><button onClick={onGone}>{t("otherRecord")}</button></> : "…"}</main>;
  if (!aim.current.asked || aim.current.node === position.node) aim.current = { node: position.node, asked: false };
  const go = (node: number | undefined) => {
    if (node === undefined || node < 0) return;
    aim.current = { node, asked: true };
    void ask("study.go", { id, node }).catch((error: Error) => { aim.current.asked = false; setProblem(error.message); });
  };
  const play = (move: string) => {
    aim.current.asked = false;
    void act("study.play", { node: position.node, move });
  };
  const step = (by: number) => {
    const { node } = aim.current;
    const line = lineThrough(tree, node);
    go(line[Math.max(0, Math.min(line.length - 1, line.indexOf(node) + by))]);
  };
  const sibling = (by: number) => {
    const { node } = aim.current;
    const all = node === 0 ? [] : children[tree.parents[node]];
    go(all[all.indexOf(node) + by]);
  };
  return <>{show({ id, tree, position, children, problem, go, play, step, sibling, act })}</>;
}

/** Arrow keys, Home and End walk through a study, as long as the component is there. */
export function useWalking({ step, sibling }: Study, others: Record<string, () => void> = {}): void {
  useLayoutEffect(() => {
    function key(event: KeyboardEvent): void {
      if (/INPUT|TEXTAREA|SELECT/.test((event.target as HTMLElement).tagName) || event.ctrlKey || event.metaKey) return;
      const keys: Record<string, () => void> = {
        ArrowLeft: () => step(-1), ArrowRight: () => step(1), PageUp: () => step(-10), PageDown: () => step(10),
        Home: () => step(-9999), End: () => step(9999), ArrowUp: () => sibling(-1), ArrowDown: () => sibling(1), ...others,
      };
      if (event.key in keys) { event.preventDefault(); keys[event.key](); }
    }
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });
}

/** The buttons below the board. */
export function Walk({ study: { tree, position, step, play } }: { study: Study }) {
  const line = lineThrough(tree, position.node);
  return (
    <div class="row walk" role="group" aria-label={t("moves")}>
      <button aria-label={t("walkStart")} onClick={() => step(-9999)}>«</button>
      <button class="far" aria-label={`${t("walkBack")} 10`} onClick={() => step(-10)}>−10</button>
      <button aria-label={t("walkBack")} onClick={() => step(-1)}>‹</button>
      <span class="count">{line.indexOf(position.node)} / {line.length - 1}</span>
      <button aria-label={t("walkForward")} onClick={() => step(1)}>›</button>
      <button class="far" aria-label={`${t("walkForward")} 10`} onClick={() => step(10)}>+10</button>
      <button aria-label={t("walkEnd")} onClick={() => step(9999)}>»</button>
      {position.canPass && <button onClick={() => play("pass")}>{t("pass")}</button>}
    </div>
  );
}

export function Analyse({ study, onLeave }: { study: Study; onLeave: () => void }) {
  const { id, tree, position, go, play, step, act, problem } = study;
  const analysis = useTopic<AnalysisView>("analysis");
  const graph = useTopic<GraphView>("graph");
  const [layer, setLayer] = useState<Layer>("candidates");
  const [hovered, setHovered] = useState<string | null>(null);
  const [spec, setSpec] = useState(tree.analysts[0]);
  const [visits, setVisits] = useState(100);
  const on = (analysis?.spec ?? "") !== "";

  const turned = useRef(0);
  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey) return; // which zooms
    event.preventDefault();
    turned.current = Math.sign(turned.current) === -Math.sign(event.deltaY) ? event.deltaY : turned.current + event.deltaY;
    if (event.deltaMode === 0 && Math.abs(turned.current) < NOTCH) return; // a touchpad sends many small steps
    step(Math.sign(turned.current));
    turned.current = 0;
  };
  const toggle = () => void act("study.analyse", { spec: on ? "" : spec });
  useWalking(study, { a: toggle });

  const known = analysis?.node === position.node ? analysis : null;
  const best = known?.moves.filter((move) => move.visits > 0) ?? [];
  const shownMove = best.find((move) => move.move === hovered);
  const marks = useMemo(() => marksOf(position, best, layer, shownMove), [position, known, layer, hovered]);
  const heat = useMemo(() => heatOf(position, known, layer), [position, known, layer]);
  const owners = layer === "ownership" ? known?.owners ?? undefined : undefined;
  const line = lineThrough(tree, position.node);
  const mistakes = useMemo(() => (graph ? mistakesOf(tree, line, graph) : []), [tree, graph, position.node]);
  const tones = useMemo(() => new Map(mistakes.map(({ node }) => [node, "mistake"])), [mistakes]);

  const progress = graph?.progress;
  return (
    <main class="game study">
      <div class="board-side" onWheel={wheel}>
        <Board view={position} onMove={position.over ? undefined : play} marks={marks} heat={heat} heatTone={layer === "prior" || layer === "value" ? layer : "visits"} owners={owners}
          onHover={(index) => setHovered(index === null ? null : best.find((move) => squaresOf(position, move.move).at(-1) === index)?.move ?? null)} />
        <Walk study={study} />
      </div>
      <aside class="panel">
        <div class="card status">
          <div class="row">
            <button class={on ? "switch on" : "switch"} aria-pressed={on} onClick={toggle}>{t("analysis")}</button>
            <Analysts tree={tree} spec={spec} onChange={(chosen) => { setSpec(chosen); if (on) void act("study.analyse", { spec: chosen }); }} />
          </div>
          <p class="headline" aria-live="polite">{position.over ? `${t("gameOver")} ${fromServer(position.result)}` : chanceText(position, known)}</p>
          {known?.problem && <p class="problem" role="alert">{fromServer(known.problem)}</p>}
          {problem && <p class="problem" role="alert">{fromServer(problem)}</p>}
          <div class="segments layers" role="group" aria-label={t("show")}>
            {LAYERS.filter((one) => one !== "ownership" || position.board === "go").map((one) => <button key={one} aria-pressed={layer === one} onClick={() => setLayer(one)}>{t(`layer.${one}`)}</button>)}
          </div>
          {on && <Candidates best={best} scored={position.board === "go"} hovered={hovered} onHover={setHovered} onPlay={play} />}
          {on && <p class="pv quiet small-print">{(shownMove ?? best[0])?.pv.slice(0, 12).join(" ")}</p>}
        </div>
        <div class="card">
          <div class="row">
            <h2>{t("wholeGame")}</h2>
            <input type="number" class="narrow" aria-label={t("visits")} min="1" max="2000" value={visits} onChange={(e) => setVisits(Math.max(1, Math.min(2000, e.currentTarget.valueAsNumber || 100)))} />
            <span class="quiet">{t("visits")}</span>
            {progress && progress.done < progress.total
              ? <button onClick={() => void act("study.whole", { visits: 0 })}>{t("stop")}</button>
              : <button onClick={() => void act("study.whole", { visits, spec })}>{t("start")}</button>}
          </div>
          {progress && progress.total > 0 && progress.done < progress.total && <progress max={progress.total} value={progress.done} aria-label={t("wholeGame")} />}
          {progress?.problem && <p class="problem">{fromServer(progress.problem)}</p>}
          <GameGraph tree={tree} position={position} line={line} graph={graph} mistakes={mistakes} onGo={go} />
          {mistakes.length > 0 && (
            <ol class="mistakes">
              {mistakes.map(({ node, loss, better }) => (
                <li key={node}><button onClick={() => go(node)}>{line.indexOf(node)}. {tree.moves[node]}</button> <span class="loss">−{Math.round(loss * 100)}%</span> {better && <span class="quiet">{t("better")} {better}</span>}</li>
              ))}
            </ol>
          )}
        </div>
        <div class="card">
          <MoveTree tree={tree} at={position.node} onGo={go} tones={tones} />
          {position.comment && <p class="comment" tabIndex={0}>{position.comment}</p>}
        </div>
        <div class="row wrap">
          <button onClick={() => void act("study.export").then((file: any) => file && download(file.name, Uint8Array.from(atob(file.data), (letter) => letter.charCodeAt(0))))}>{t("save")}</button>
          <a class="button" href={`#/explain/${id}`}>{t("explain")}</a>
          <button onClick={onLeave}>{t("otherRecord")}</button>
        </div>
        {tree.games.length > 1 && (
          <Field label={t("gameOfFile")}>
            <Select value={String(tree.chosen)} choices={tree.games.map((name, i): [string, string] => [String(i), `${i + 1}. ${name}`])}
              onChange={(game) => void act("study.choose", { game: Number(game) }).then((other: any) => other && (location.hash = `#/analyse/${other.id}`))} />
          </Field>
        )}
        <p class="quiet small-print">{[tree.names.filter(Boolean).join(" – "), aboutOf(position) || fromServer(tree.about), fromServer(tree.result)].filter(Boolean).join(" · ")}</p>
        <p class="quiet small-print keys">{t("walkKeys")}</p>
      </aside>
    </main>
  );
}

export function Analysts({ tree, spec, onChange }: { tree: StudyTree; spec: string; onChange: (spec: string) => void }) {
  const [own, setOwn] = useState(false);
  if (own) return <input class="mono" aria-label={t("spec")} value={spec} maxLength={200} spellcheck={false} onChange={(e) => onChange(e.currentTarget.value)} />;
  return (
    <Select
      label={t("agent")}
      value={spec}
      choices={[...new Set([...tree.analysts, spec].filter(Boolean))].map((one): [string, string] => [one, one]).concat([["…", t("bySpec")]])}
      onChange={(chosen) => (chosen === "…" ? setOwn(true) : onChange(chosen))}
    />
  );
}

/** The best moves. There is room for all of them from the start, so that nothing moves while they come in. */
function Candidates({ best, scored, hovered, onHover, onPlay }: { best: MoveInfo[]; scored: boolean; hovered: string | null; onHover: (move: string | null) => void; onPlay: (move: string) => void }) {
  return (
    <table class="candidates still">
      <thead><tr>{(["move", "chance", ...(scored ? ["points"] : []), "visits", "layer.prior"] as Word[]).map((word) => <th key={word}>{head(word)}</th>)}</tr></thead>
      <tbody>
        {best.slice(0, SHOWN).map((move) => (
          <tr key={move.move} class={move.move === hovered ? "hovered" : ""} onPointerEnter={() => onHover(move.move)} onPointerLeave={() => onHover(null)}>
            <td><button class="quiet-button" title={move.pv.join(" ")} onFocus={() => onHover(move.move)} onBlur={() => onHover(null)} onClick={() => onPlay(move.move)}>{move.move}</button></td>
            <td>{(move.chance * 100).toFixed(1)}%</td>
            {scored && <td>{move.score === null ? "" : signed(move.score)}</td>}
            <td>{move.visits}</td>
            <td>{(move.prior * 100).toFixed(1)}%</td>
          </tr>
        ))}
        {Array.from({ length: Math.max(0, SHOWN - best.length) }, (_, i) => <tr key={`room ${i}`} aria-hidden="true"><td colSpan={5} /></tr>)}
      </tbody>
    </table>
  );
}

function GameGraph({ tree, position, line, graph, mistakes, onGo }: {
  tree: StudyTree; position: StudyPosition; line: number[]; graph: GraphView | null;
  mistakes: { node: number; loss: number }[]; onGo: (node: number) => void;
}) {
  if (!graph) return null;
  const values = line.map((node) => graph.values[String(node)]);
  const chances = values.flatMap((value, x): [number, number][] => (value ? [[x, value[0] * 100]] : []));
  const scores = values.flatMap((value, x): [number, number][] => (value && value[1] !== null ? [[x, value[1]]] : []));
  if (chances.length < 2) return null;
  const marks = mistakes.map(({ node, loss }) => {
    const x = line.indexOf(node);
    return { x, y: (values[x]?.[0] ?? 0.5) * 100, tone: tree.movers[node] === 1 ? "first" : "second", title: `${x}. ${tree.moves[node]} −${Math.round(loss * 100)}%` };
  });
  const choose = (x: number) => onGo(line[x]);
  const first = of("player", position.players[0]);
  return (
    <>
      <Chart label={t("chance")} lines={[{ name: `${first} %`, points: chances, tone: "first" }]} low={0} high={100} middle={50} height={110} at={line.indexOf(position.node)} marks={marks} onChoose={choose} show={(y) => y.toFixed(0)} />
      {scores.length > 1 && <Chart label={t("points")} lines={[{ name: `${first} ${t("points")}`, points: scores, tone: "score" }]} middle={0} low={Math.min(0, ...scores.map(([, y]) => y))} high={Math.max(0, ...scores.map(([, y]) => y))} height={70} at={line.indexOf(position.node)} onChoose={choose} show={signed} />}
    </>
  );
}

/** The moves of a line that cost their player most, at most five. */
function mistakesOf(tree: StudyTree, line: number[], graph: GraphView): { node: number; loss: number; better: string }[] {
  return line.slice(1).flatMap((node, i) => {
    const [before, after] = [graph.values[String(line[i])], graph.values[String(node)]];
    if (!before || !after) return [];
    const loss = (before[0] - after[0]) * (tree.movers[node] === 1 ? 1 : -1);
    return loss >= SERIOUS ? [{ node, loss, better: before[3] !== tree.moves[node] ? before[3] : "" }] : [];
  }).sort((a, b) => b.loss - a.loss).slice(0, 5);
}

export function marksOf(position: StudyPosition, best: MoveInfo[], layer: Layer, shown: MoveInfo | undefined): Mark[] {
  if (shown && position.board === "go") {
    return shown.pv.slice(0, 12).flatMap((move, i): Mark[] => squaresOf(position, move).map((at) => ({ at, text: String(i + 1), stone: ((position.toPlay - 1 + i) % 2) + 1 })));
  }
  if (!shown && layer !== "candidates") return [];
  const most = Math.max(1, ...best.map((move) => move.visits));
  return (shown ? [shown] : best.filter((move) => move.visits >= most * 0.02)).flatMap((move): Mark[] => {
    const squares = squaresOf(position, move.move);
    const tone = move === best[0] ? "best" : shown || move.visits > most * 0.2 ? "good" : "plain";
    const from = position.board === "chess" ? squares[0] : undefined;
    return squares.length === 0 ? [] : [{ at: squares.at(-1)!, text: (move.chance * 100).toFixed(0), sub: brief(move.visits), tone, from }];
  });
}

export function heatOf(position: StudyPosition, known: AnalysisView | null, layer: Layer): Map<number, number> | undefined {
  if (!known || layer === "candidates" || layer === "ownership" || layer === "nothing") return undefined;
  const heat = new Map<number, number>();
  const seen = known.moves.filter((move) => layer === "prior" || move.visits > 0);
  const most = Math.max(1e-9, ...seen.map((move) => (layer === "prior" ? move.prior : layer === "visits" ? move.visits : 1)));
  seen.forEach((move) => {
    const spot = squaresOf(position, move.move).at(-1);
    if (spot === undefined) return;
    const share = layer === "value" ? move.chance : Math.sqrt((layer === "prior" ? move.prior : move.visits) / most);
    if (share > 0.03) heat.set(spot, Math.max(heat.get(spot) ?? 0, share));
  });
  return heat;
}

function chanceText(position: StudyPosition, known: AnalysisView | null): string {
  const player = of("player", position.players[position.toPlay - 1]);
  if (!known || known.chance === null || known.visits === 0) return `${player} ${t("toPlay")}`;
  const score = known.score === null ? "" : ` · ${signed(known.score)}`;
  return `${player} ${(known.chance * 100).toFixed(1)}%${score} · ${brief(known.visits)} ${t("visits")}`;
}

export function signed(value: number): string {
  return `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(1)}`;
}

export function brief(count: number): string {
  return count >= 10_000 ? `${(count / 1000).toFixed(0)}k` : count >= 1000 ? `${(count / 1000).toFixed(1)}k` : String(count);
}

