// A game that is being played.
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { Board, type Mark } from "./board";
import { Clock } from "./clock";
import { levelName } from "./setup";
import { pointIndex, pointName, squaresOf } from "./coordinates";
import { type Actions, type GameView, type Hint, type Thought, type View } from "./messages";
import { stoneSound } from "./sound";
import { ask, type AskedOfOne, askOf, drop, useConnected, useTopic } from "./talk";
import { aboutOf, fill, fromServer, of, t } from "./words";

export function Play({ id, onLeave }: { id: string; onLeave: () => void }) {
  const game = useTopic("game");
  const [problem, setProblem] = useState("");
  const [asking, setAsking] = useState<"pass" | "resign" | null>(null); // whether that is really meant
  const shown = game !== null && game.id === id ? game : null;
  const act = <A extends AskedOfOne>(
    action: A,
    fields: Omit<Actions[A]["asks"], "id">,
    failed = () => undefined as void,
  ) =>
    askOf(id, action, fields).then(
      () => setProblem(""),
      (error: Error) => (setProblem(error.message), failed()),
    );

  useConnected(() => {
    const leave = shown === null ? onLeave : () => undefined; // a game that is there stays, whatever a second try says
    void act("play.open", {}, leave);
  });
  useEffect(
    () => () => {
      drop("game");
      void ask("play.leave", {}).catch(() => undefined);
    },
    [id],
  );
  const number = shown?.number ?? 0;
  useEffect(() => {
    if (number > 0) stoneSound();
  }, [number]);

  const people = shown ? shown.specs.map((spec) => spec === "") : [true, true];
  const mine = shown !== null && !shown.over && people[shown.toPlay - 1];
  const turned = shown !== null && shown.board === "chess" && !people[0] && people[1];
  const canResign = shown !== null && !shown.over && people.includes(true);
  const move = (name: string) => void act("play.move", { move: name, number: shown!.number });
  const pass = () => (shown!.open ? setAsking("pass") : move("pass"));
  useLayoutEffect(() => setAsking(null), [shown?.number, shown?.over]);

  useLayoutEffect(() => {
    // with the page, not after it is painted: a key may come in between
    function key(event: KeyboardEvent): void {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(target.tagName)) return;
      const actions: Record<string, () => void> = {
        u: () => void act("play.undo", {}),
        h: () => mine && void act("play.hint", {}),
        s: () => shown?.territory && !shown.over && void act("play.estimate", {}),
        p: () => mine && shown?.canPass && pass(),
      };
      actions[event.key.toLowerCase()]?.();
    }
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });

  const marks = useMemo(() => (shown ? hintMarks(shown, shown.marks.hints ?? []) : []), [shown]);
  const [counted, asked] = [shown?.count?.owners, shown?.marks.owners];
  const owners = useMemo(() => ownersOf(counted ?? asked), [counted, asked]);
  const dead = useMemo(() => new Set((shown?.count?.dead ?? []).map((name) => pointIndex(shown!, name))), [shown]);

  if (shown === null) return <main class="loading">{problem || "…"}</main>;
  const order = turned || (people[0] && !people[1]) || people[0] === people[1] ? (turned ? [1, 2] : [2, 1]) : [1, 2];
  return (
    <main class="game">
      <div class="board-side">
        <Board
          view={shown}
          flip={turned}
          onMove={!shown.over && people.includes(true) ? move : undefined}
          waiting={!mine}
          onPoint={
            shown.count?.correctable
              ? (index) => shown.cells[index] !== "0" && void act("play.dead", { point: pointName(shown, index) })
              : undefined
          }
          marks={marks}
          owners={owners}
          dead={dead}
        />
        {shown.board === "text" && <MoveButtons moves={shown.moves ?? []} onMove={move} />}
      </div>
      <aside class="panel">
        <Player game={shown} player={order[0]} />
        <div class="card status">
          <p class="headline" aria-live="polite" title={headline(shown, mine)}>
            {headline(shown, mine)}
          </p>
          <p class="unseen" role="status">
            {lastMove(shown)}
          </p>
          <div class={shown.territory ? "actions" : "actions four"}>
            {shown.territory && (
              <button disabled={!mine || !shown.canPass} onClick={pass}>
                {t("pass")}
              </button>
            )}
            <button
              disabled={shown.moveList.length === 0 || shown.reason === "time"}
              onClick={() => void act("play.undo", {})}
            >
              {shown.over && shown.count ? t("resume") : t("undo")}
            </button>
            <button disabled={!mine} onClick={() => void act("play.hint", {})}>
              {t("hint")}
            </button>
            {shown.territory && (
              <button disabled={shown.over} onClick={() => void act("play.estimate", {})}>
                {t("score")}
              </button>
            )}
            <button disabled={!canResign} onClick={() => setAsking("resign")}>
              {t("resign")}
            </button>
            <button onClick={() => void save(id)}>{t("save")}</button>
          </div>
          {/* What comes and goes is below the buttons, so that they stay where they are. */}
          {asking && (asking === "resign" ? canResign : mine) && (
            <div class="confirm" role="alertdialog" aria-label={t(asking === "resign" ? "reallyResign" : "reallyPass")}>
              <span>{t(asking === "resign" ? "reallyResign" : "reallyPass")}</span>
              <button
                class="danger"
                onClick={() => {
                  setAsking(null);
                  if (asking === "resign") void act("play.resign", {});
                  else move("pass");
                }}
              >
                {t("yes")}
              </button>
              <button autoFocus onClick={() => setAsking(null)}>
                {t("no")}
              </button>
            </div>
          )}
          {(problem || shown.problem) && (
            <p class="problem" role="alert">
              {fromServer(problem || shown.problem)}
            </p>
          )}
          {shown.problem && <button onClick={() => void act("play.again", {})}>{t("again")}</button>}
          {shown.count && <p class="quiet">{fromServer(shown.count.text)}</p>}
          {shown.count?.correctable && <p class="quiet">{t("deadStones")}</p>}
          {shown.marks.margin !== undefined && !shown.over && <p class="estimate">{margin(shown.marks.margin)}</p>}
          {shown.chance !== null && <Chance game={shown} />}
        </div>
        <Player game={shown} player={order[1]} />
        <details class="card moves" open>
          <summary>
            {t("moves")} <span class="quiet">{shown.number}</span>
          </summary>
          <ol tabIndex={0}>
            {shown.moveList.map((name, i) => (
              <li key={i} class={(i + (shown.handicap ? 1 : 0)) % 2 ? "second" : "first"}>
                {name}
              </li>
            ))}
          </ol>
        </details>
        <p class="quiet small-print">{aboutOf(shown) || fromServer(shown.about)}</p>
        <div class="row">
          <button onClick={onLeave}>{t("newGame")}</button>
          <button
            disabled={shown.moveList.length === 0}
            onClick={() =>
              void ask("study.game", { game: id }).then((study) => (location.hash = `#/analyse/${study.id}`))
            }
          >
            {t("analyseThis")}
          </button>
        </div>
        <p class="quiet small-print keys">{t("keys")}</p>
      </aside>
    </main>
  );
}

/** Hints with their order, or the chance to win. */
export function hintMarks(view: View, hints: Hint[]): Mark[] {
  return hints.flatMap(({ move, chance }, i): Mark[] => {
    const squares = squaresOf(view, move);
    const text = chance === null || chance === undefined ? String(i + 1) : String(Math.round(chance * 100));
    const from = view.board === "chess" ? squares[0] : undefined;
    return squares.length === 0 ? [] : [{ at: squares.at(-1)!, from, text, tone: i === 0 ? "best" : "good" }];
  });
}

export function ownersOf(text: string | undefined): number[] | undefined {
  return text === undefined ? undefined : [...text].map((owner) => (owner === "1" ? 1 : owner === "2" ? -1 : 0));
}

function Player({ game, player }: { game: GameView; player: number }) {
  const spec = game.specs[player - 1];
  const turn = !game.over && game.toPlay === player;
  const name =
    spec === ""
      ? game.specs.includes("") && game.specs[2 - player] !== ""
        ? t("you")
        : of("player", game.players[player - 1])
      : levelName(game.sides[player - 1]);
  return (
    <PlayerCard
      turn={turn}
      chip={<Chip game={game} player={player} />}
      name={name}
      about={spec || (game.specs.every((each) => each === "") ? "" : of("player", game.players[player - 1]))}
    >
      {game.captures && (
        <span class="captures" title={t("captured")}>
          <b>{game.captures[player - 1]}</b>
          <span> {t("captured")}</span>
        </span>
      )}
      {game.clock && spec === "" && <Clock clock={game.clock} player={player} />}
      {spec !== "" && (
        <span class={`dots ${turn && game.thinking ? "" : "idle"}`} role="status">
          {turn && game.thinking && <span class="unseen">{t("thinking")}</span>}
          <i />
          <i />
          <i />
        </span>
      )}
    </PlayerCard>
  );
}

/** Who plays one side, and what else there is to show of it. */
export function PlayerCard({
  turn,
  chip,
  name,
  about,
  children,
}: {
  turn: boolean;
  chip: preact.ComponentChild;
  name: string;
  about: string;
  children?: preact.ComponentChildren;
}) {
  return (
    <div class={`card player ${turn ? "turn" : ""}`}>
      {chip}
      <div class="who">
        <strong>{name}</strong>
        {about && <span class="quiet">{about}</span>}
      </div>
      {children}
    </div>
  );
}

/** A small stone, piece or mark in a player's colour. */
export function Chip({ game, player }: { game: { board: string; symbols?: string }; player: number }) {
  if (game.board === "squares") return <span class={`chip letter p${player}`}>{game.symbols?.[player] ?? player}</span>;
  const black = game.board === "chess" ? player === 2 : player === 1;
  return <span class={`chip ${black ? "black" : "white"}`} />;
}

/** The chance of the first player, as who moved last saw it. */
export function Chance({ game }: { game: View & Thought }) {
  const first = game.chance!;
  return (
    <div class="chance" title={game.note}>
      <div class={`bar ${game.board}`}>
        <i style={{ width: `${first * 100}%` }} />
      </div>
      <span>
        {of("player", game.players[0])} {Math.round(first * 100)}% <span class="quiet">{game.note}</span>
      </span>
    </div>
  );
}

function MoveButtons({ moves, onMove }: { moves: string[]; onMove: (move: string) => void }) {
  return (
    <div class="row wrap">
      {moves.map((move) => (
        <button key={move} onClick={() => onMove(move)}>
          {move}
        </button>
      ))}
    </div>
  );
}

function headline(game: GameView, mine: boolean): string {
  const player = of("player", game.players[game.toPlay - 1]);
  if (game.over) {
    if (!game.winner) return game.result === "Void" ? t("noResult") : t("draw");
    const won = of("player", game.players[game.winner - 1]);
    const how = /^[BW]\+[\d.]+$/.test(game.result)
      ? `${game.result.slice(2)} ${t("points")}`
      : of("reason", game.reason);
    return `${won} ${t("wins")} · ${how}`;
  }
  const last = game.last === "pass" ? `${of("player", game.players[game.mover - 1])} ${t("passed")} · ` : "";
  const check = game.check ? ` · ${t("check")}` : "";
  return last + (mine && game.specs.some((spec) => spec) ? t("yourTurn") : `${player} ${t("toPlay")}`) + check;
}

/** The last move, for those who listen. */
function lastMove(game: GameView): string {
  if (game.mover === 0) return "";
  const [player, move] = [of("player", game.players[game.mover - 1]), game.moveList.at(-1)];
  return move === "resign"
    ? `${player} ${t("resigned")}`
    : move === "pass"
      ? `${player} ${t("passed")}`
      : `${player} ${move}`;
}

function margin(points: number): string {
  if (points === 0) return t("even");
  return fill("aheadBy", of("player", points > 0 ? "Black" : "White"), Math.abs(points));
}

async function save(id: string): Promise<void> {
  const { name, text } = await ask("play.save", { id });
  download(name, text);
}

export function download(name: string, text: string | Uint8Array<ArrayBuffer>): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
