// Analyse: walk through a record, try moves, and see what an agent thinks of them.
import { useMemo, useRef, useState } from "preact/hooks";
import { Board } from "./board";
import { Chart } from "./chart";
import { squaresOf } from "./coordinates";
import { brief, heatOf, type Layer, LAYERS, marksOf, mistakesOf, signed } from "./estimates";
import {
  type AnalysisView,
  type Catalogue,
  type GraphView,
  type ListedStudy,
  type MoveInfo,
  type StudyPosition,
  type StudyTree,
} from "./messages";
import { download } from "./play";
import { asOptions, type Choice, Field, GameChoice, OpenRecord, Select, usualChoice } from "./setup";
import { Analysts, type Study, useWalking, Walk } from "./study";
import { ask, useConnected, useTopic } from "./talk";
import { lineThrough, MoveTree } from "./tree";
import { aboutOf, fromServer, head, of, t, type Word } from "./words";

const SHOWN = 8; // moves in the table
const NOTCH = 50; // pixels that the wheel has to turn for a move

export function AnalyseStart({
  catalogue,
  part,
  onStudy,
  empty,
}: {
  catalogue: Catalogue;
  part: string;
  onStudy: (id: string) => void;
  empty?: Word;
}) {
  const [name, setName] = useState("go");
  const [given, setGiven] = useState<Choice>(() => usualChoice(catalogue, "go"));
  const [problem, setProblem] = useState("");
  const [studies, setStudies] = useState<ListedStudy[] | null>(null);
  useConnected(() => void ask("study.list", {}).then(setStudies, () => setStudies([])));
  const game = catalogue.games.find((one) => one.name === name)!;
  const open = (asked: Promise<{ id: string }>) =>
    void asked.then(
      ({ id }) => onStudy(id),
      (error: Error) => setProblem(error.message),
    );
  return (
    <main class="setup">
      <div class="column">
        {empty && <p class="quiet">{t(empty)}</p>}
        <OpenRecord onRecord={(record) => open(ask("study.load", record))} />
        {problem && (
          <p class="problem" role="alert">
            {fromServer(problem)}
          </p>
        )}
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
                    <span>
                      {[fromServer(one.about), `${one.positions} ${t("positions")}`, fromServer(one.result)]
                        .filter(Boolean)
                        .join(" · ")}
                    </span>
                  </a>
                  <button
                    class="quiet-button"
                    aria-label={`${t("remove")}: ${title}`}
                    onClick={() =>
                      void ask("study.remove", { id: one.id }).then(() =>
                        setStudies(studies.filter((other) => other.id !== one.id)),
                      )
                    }
                  >
                    ✕
                  </button>
                </li>
              );
            })}
          </ul>
        </section>
      </div>
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          open(ask("study.new", { game: name, options: asOptions(game, given) }));
        }}
      >
        <h2>{t("emptyBoard")}</h2>
        <GameChoice
          catalogue={catalogue}
          game={game}
          given={given}
          onChange={(chosen, options) => {
            setName(chosen);
            setGiven(options);
          }}
        />
        <button class="primary" type="submit">
          {t("start")}
        </button>
      </form>
    </main>
  );
}

export function Analyse({ study, onLeave }: { study: Study; onLeave: () => void }) {
  const { id, tree, position, go, play, step, act, problem } = study;
  const analysis = useTopic("analysis");
  const graph = useTopic("graph");
  const [layer, setLayer] = useState<Layer>("candidates");
  const [hovered, setHovered] = useState<string | null>(null);
  const [spec, setSpec] = useState(tree.analysts[0]);
  const [visits, setVisits] = useState(100);
  const on = (analysis?.spec ?? "") !== "";

  const turned = useRef(0);
  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey) return; // which zooms
    event.preventDefault();
    turned.current =
      Math.sign(turned.current) === -Math.sign(event.deltaY) ? event.deltaY : turned.current + event.deltaY;
    if (event.deltaMode === 0 && Math.abs(turned.current) < NOTCH) return; // a touchpad sends many small steps
    step(Math.sign(turned.current));
    turned.current = 0;
  };
  const toggle = () => void act("study.analyse", { spec: on ? "" : spec });
  useWalking(study, { a: toggle });

  const known = analysis?.node === position.node ? analysis : null;
  const best = known?.moves.filter((move) => move.visits > 0) ?? [];
  const shownMove = best.find((move) => move.move === hovered);
  const marks = marksOf(position, best, layer, shownMove);
  const heat = useMemo(() => heatOf(position, known, layer), [position, known, layer]);
  const owners = layer === "ownership" ? (known?.owners ?? undefined) : undefined;
  const line = lineThrough(tree, position.node);
  const mistakes = useMemo(
    () => (graph ? mistakesOf(tree, lineThrough(tree, position.node), graph) : []),
    [tree, graph, position.node],
  );
  const tones = useMemo(() => new Map(mistakes.map(({ node }) => [node, "mistake"])), [mistakes]);

  const progress = graph?.progress;
  return (
    <main class="game study">
      <div class="board-side" onWheel={wheel}>
        <Board
          view={position}
          onMove={position.over ? undefined : play}
          marks={marks}
          heat={heat}
          heatTone={layer === "prior" || layer === "value" ? layer : "visits"}
          owners={owners}
          onHover={(index) =>
            setHovered(
              index === null
                ? null
                : (best.find((move) => squaresOf(position, move.move).at(-1) === index)?.move ?? null),
            )
          }
        />
        <Walk study={study} />
      </div>
      <aside class="panel">
        <div class="card status">
          <div class="row">
            <button class={on ? "switch on" : "switch"} aria-pressed={on} onClick={toggle}>
              {t("analysis")}
            </button>
            <Analysts
              tree={tree}
              spec={spec}
              onChange={(chosen) => {
                setSpec(chosen);
                if (on) void act("study.analyse", { spec: chosen });
              }}
            />
          </div>
          <p class="headline" aria-live="polite">
            {position.over ? `${t("gameOver")} ${fromServer(position.result)}` : chanceText(position, known)}
          </p>
          {known?.problem && (
            <p class="problem" role="alert">
              {fromServer(known.problem)}
            </p>
          )}
          {problem && (
            <p class="problem" role="alert">
              {fromServer(problem)}
            </p>
          )}
          <div class="segments layers" role="group" aria-label={t("show")}>
            {LAYERS.filter((one) => one !== "ownership" || position.board === "go").map((one) => (
              <button key={one} aria-pressed={layer === one} onClick={() => setLayer(one)}>
                {t(`layer.${one}`)}
              </button>
            ))}
          </div>
          {on && (
            <Candidates
              best={best}
              scored={position.board === "go"}
              hovered={hovered}
              onHover={setHovered}
              onPlay={play}
            />
          )}
          {on && <p class="pv quiet small-print">{(shownMove ?? best[0])?.pv.slice(0, 12).join(" ")}</p>}
        </div>
        <div class="card">
          <div class="row">
            <h2>{t("wholeGame")}</h2>
            <input
              type="number"
              class="narrow"
              aria-label={t("visits")}
              min="1"
              max="2000"
              value={visits}
              onChange={(e) => setVisits(Math.max(1, Math.min(2000, e.currentTarget.valueAsNumber || 100)))}
            />
            <span class="quiet">{t("visits")}</span>
            {progress && progress.done < progress.total ? (
              <button onClick={() => void act("study.whole", { visits: 0 })}>{t("stop")}</button>
            ) : (
              <button onClick={() => void act("study.whole", { visits, spec })}>{t("start")}</button>
            )}
          </div>
          {progress && progress.total > 0 && progress.done < progress.total && (
            <progress max={progress.total} value={progress.done} aria-label={t("wholeGame")} />
          )}
          {progress?.problem && <p class="problem">{fromServer(progress.problem)}</p>}
          <GameGraph tree={tree} position={position} line={line} graph={graph} mistakes={mistakes} onGo={go} />
          {mistakes.length > 0 && (
            <ol class="mistakes">
              {mistakes.map(({ node, loss, better }) => (
                <li key={node}>
                  <button onClick={() => go(node)}>
                    {line.indexOf(node)}. {tree.moves[node]}
                  </button>{" "}
                  <span class="loss">−{Math.round(loss * 100)}%</span>{" "}
                  {better && (
                    <span class="quiet">
                      {t("better")} {better}
                    </span>
                  )}
                </li>
              ))}
            </ol>
          )}
        </div>
        <div class="card">
          <MoveTree tree={tree} at={position.node} onGo={go} tones={tones} />
          {position.comment && (
            <p class="comment" tabIndex={0}>
              {position.comment}
            </p>
          )}
        </div>
        <div class="row wrap">
          <button
            onClick={() =>
              void act("study.export", {}).then(
                (file) =>
                  file &&
                  download(
                    file.name,
                    Uint8Array.from(atob(file.data), (letter) => letter.charCodeAt(0)),
                  ),
              )
            }
          >
            {t("save")}
          </button>
          <a class="button" href={`#/explain/${id}`}>
            {t("explain")}
          </a>
          <button onClick={onLeave}>{t("otherRecord")}</button>
        </div>
        {tree.games.length > 1 && (
          <Field label={t("gameOfFile")}>
            <Select
              value={String(tree.chosen)}
              choices={tree.games.map((name, i): [string, string] => [String(i), `${i + 1}. ${name}`])}
              onChange={(game) =>
                void act("study.choose", { game: Number(game) }).then(
                  (other) => other && (location.hash = `#/analyse/${other.id}`),
                )
              }
            />
          </Field>
        )}
        <p class="quiet small-print">
          {[
            tree.names.filter(Boolean).join(" – "),
            aboutOf(position) || fromServer(tree.about),
            fromServer(tree.result),
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
        <p class="quiet small-print keys">{t("walkKeys")}</p>
      </aside>
    </main>
  );
}

/** The best moves. There is room for all of them from the start, so that nothing moves while they come in. */
function Candidates({
  best,
  scored,
  hovered,
  onHover,
  onPlay,
}: {
  best: MoveInfo[];
  scored: boolean;
  hovered: string | null;
  onHover: (move: string | null) => void;
  onPlay: (move: string) => void;
}) {
  return (
    <table class="candidates still">
      <thead>
        <tr>
          {(["move", "chance", ...(scored ? ["points"] : []), "visits", "layer.prior"] as Word[]).map((word) => (
            <th key={word}>{head(word)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {best.slice(0, SHOWN).map((move) => (
          <tr
            key={move.move}
            class={move.move === hovered ? "hovered" : ""}
            onPointerEnter={() => onHover(move.move)}
            onPointerLeave={() => onHover(null)}
          >
            <td>
              <button
                class="quiet-button"
                title={move.pv.join(" ")}
                onFocus={() => onHover(move.move)}
                onBlur={() => onHover(null)}
                onClick={() => onPlay(move.move)}
              >
                {move.move}
              </button>
            </td>
            <td>{(move.chance * 100).toFixed(1)}%</td>
            {scored && <td>{move.score === null ? "" : signed(move.score)}</td>}
            <td>{move.visits}</td>
            <td>{(move.prior * 100).toFixed(1)}%</td>
          </tr>
        ))}
        {Array.from({ length: Math.max(0, SHOWN - best.length) }, (_, i) => (
          <tr key={`room ${i}`} aria-hidden="true">
            <td colSpan={5} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function GameGraph({
  tree,
  position,
  line,
  graph,
  mistakes,
  onGo,
}: {
  tree: StudyTree;
  position: StudyPosition;
  line: number[];
  graph: GraphView | null;
  mistakes: { node: number; loss: number }[];
  onGo: (node: number) => void;
}) {
  if (!graph) return null;
  const values = line.map((node) => graph.values[String(node)]);
  const chances = values.flatMap((value, x): [number, number][] => (value ? [[x, value[0] * 100]] : []));
  const scores = values.flatMap((value, x): [number, number][] => (value && value[1] !== null ? [[x, value[1]]] : []));
  if (chances.length < 2) return null;
  const marks = mistakes.map(({ node, loss }) => {
    const x = line.indexOf(node);
    return {
      x,
      y: (values[x]?.[0] ?? 0.5) * 100,
      tone: tree.movers[node] === 1 ? "first" : "second",
      title: `${x}. ${tree.moves[node]} −${Math.round(loss * 100)}%`,
    };
  });
  const choose = (x: number) => onGo(line[x]);
  const first = of("player", position.players[0]);
  return (
    <>
      <Chart
        label={t("chance")}
        lines={[{ name: `${first} %`, points: chances, tone: "first" }]}
        low={0}
        high={100}
        middle={50}
        height={110}
        at={line.indexOf(position.node)}
        marks={marks}
        onChoose={choose}
        show={(y) => y.toFixed(0)}
      />
      {scores.length > 1 && (
        <Chart
          label={t("points")}
          lines={[{ name: `${first} ${t("points")}`, points: scores, tone: "score" }]}
          middle={0}
          low={Math.min(0, ...scores.map(([, y]) => y))}
          high={Math.max(0, ...scores.map(([, y]) => y))}
          height={70}
          at={line.indexOf(position.node)}
          onChoose={choose}
          show={signed}
        />
      )}
    </>
  );
}

function chanceText(position: StudyPosition, known: AnalysisView | null): string {
  const player = of("player", position.players[position.toPlay - 1]);
  if (!known || known.chance === null || known.visits === 0) return `${player} ${t("toPlay")}`;
  const score = known.score === null ? "" : ` · ${signed(known.score)}`;
  return `${player} ${(known.chance * 100).toFixed(1)}%${score} · ${brief(known.visits)} ${t("visits")}`;
}
