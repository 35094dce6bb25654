// One board for every game: points of Go, squares with pieces, squares with marks.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Piece } from "./pieces";
import { columnName, pointName, type Sized, squaresOf } from "./coordinates";
import { type View } from "./messages";
import { of, t } from "./words";

const U = 40; // units of a cell
const WIDEST: Record<string, number> = { squares: 30, chess: 60 }; // rem
const RANK = "qrbn"; // pieces to promote to, the strongest first

export interface Mark {
  /** The point or square. Of several marks of one the first is drawn, with the arrows of all. */
  at: number;
  text?: string;
  sub?: string;
  tone?: "best" | "good" | "plain";
  /** Whether something goes here next, which a dashed ring shows. */
  next?: boolean;
  /** Where the piece comes from that moves here. */
  from?: number;
  /** A stone that is not on the board yet: 1 or 2. */
  stone?: number;
}

export interface BoardProps {
  view: View;
  /** Called with the name of a legal move. Without it the board is only to look at. */
  onMove?: (move: string) => void;
  /** Called with any point or square, where all of them mean something. */
  onPoint?: (index: number) => void;
  onHover?: (index: number | null) => void;
  /** Whether it is somebody else's turn: the board keeps its cursor, and takes no moves. */
  waiting?: boolean;
  /** The most important first. */
  marks?: Mark[];
  /** How strongly each point is coloured, 0 to 1, by index. */
  heat?: Map<number, number>;
  heatTone?: "prior" | "visits" | "value";
  /** Whose each point is: 1 the first player's to -1 the second's. */
  owners?: number[];
  dead?: Set<number>;
  flip?: boolean;
  small?: boolean;
  coordinates?: boolean;
}

export function Board(props: BoardProps) {
  const { view, onMove, onPoint, flip = false, small = false, coordinates = true, waiting = false } = props;
  const [hover, setHover] = useState<number | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const [promotions, setPromotions] = useState<string[]>([]);
  const [pending, setPending] = useState<number | null>(null);
  const svg = useRef<SVGSVGElement>(null);

  useEffect(() => {
    setPending(null);
    setChosen(null);
    setPromotions([]);
  }, [view.cells, view.number]);

  const { rows, cols, board, cells } = view;
  const shape = useMemo(() => ({ rows, cols, board }), [rows, cols, board]);
  const go = board === "go";
  const scale = Math.max(0.62, Math.min(1.35, view.cols / 9)); // of letters and lines, so that small boards are not coarse
  const edge = coordinates && !small ? U * 0.62 * scale : go ? U * 0.1 : 0;
  const [width, height] = [view.cols * U + 2 * edge, view.rows * U + 2 * edge];
  const spots = view.rows * view.cols;
  const legal = useMemo(() => legalSpots(view), [view]);
  const place = useCallback(
    (index: number): At => {
      const shown = flip ? spots - 1 - index : index;
      return [edge + (shown % cols) * U + U / 2, edge + Math.floor(shown / cols) * U + U / 2];
    },
    [flip, spots, edge, cols],
  );
  const last = squaresOf(view, view.last);
  const marks = props.marks ?? [];
  const targets = chosen === null ? [] : (view.moves ?? []).filter((move) => squaresOf(view, move)[0] === chosen);
  const active = onMove !== undefined || onPoint !== undefined;

  function at(event: PointerEvent | MouseEvent): number | null {
    const matrix = svg.current!.getScreenCTM(); // knows zoom, and margins where the window is not of the board's shape
    if (matrix === null) return null;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const [col, row] = [Math.floor((x - edge) / U), Math.floor((y - edge) / U)];
    if (col < 0 || row < 0 || col >= view.cols || row >= view.rows) return null;
    const index = row * view.cols + col;
    return flip ? spots - 1 - index : index;
  }

  function look(index: number | null): void {
    if (index !== hover) {
      setHover(index);
      props.onHover?.(index);
    }
  }

  function act(index: number): void {
    if (onPoint) return onPoint(index);
    if (!onMove || view.over || waiting) return;
    if (view.board === "chess") {
      const moves = targets.filter((move) => squaresOf(view, move)[1] === index);
      if (moves.length > 1) return setPromotions(moves.sort((a, b) => RANK.indexOf(a[4]) - RANK.indexOf(b[4])));
      if (moves.length === 1) return onMove(moves[0]);
      return setChosen(index !== chosen && legal.has(index) ? index : null);
    }
    if (legal.has(index)) {
      setPending(index);
      onMove(pointName(view, index));
      setTimeout(() => setPending(null), 1500);
    }
  }

  function key(event: KeyboardEvent): void {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -view.cols, ArrowDown: view.cols };
    const here = cursor ?? Math.floor(spots / 2);
    if (event.key in steps && active) {
      event.preventDefault();
      event.stopPropagation();
      const step = steps[event.key] * (flip ? -1 : 1);
      const next = here + step;
      const stays = Math.abs(step) === 1 && Math.floor(next / view.cols) !== Math.floor(here / view.cols);
      if (cursor === null) setCursor(here);
      else if (next >= 0 && next < spots && !stays) {
        setCursor(next);
        props.onHover?.(next);
      }
    } else if ((event.key === "Enter" || event.key === " ") && cursor !== null) {
      event.preventDefault();
      act(cursor);
    } else if (event.key === "Escape") {
      if (chosen === null && promotions.length === 0) (event.currentTarget as HTMLElement).blur();
      setChosen(null);
      setPromotions([]);
    }
  }

  const still = useMemo(
    () => (
      <Still view={shape} edge={edge} width={width} height={height} flip={flip} coordinates={coordinates && !small} />
    ),
    [shape, edge, width, height, flip, coordinates, small],
  );
  const { dead } = props;
  const things = useMemo(
    () => <Things view={shape} cells={cells} place={place} dead={dead} />,
    [shape, cells, place, dead],
  );
  const ghost =
    pending ?? (onMove && !waiting && hover !== null && legal.has(hover) && view.board !== "chess" ? hover : null);

  if (view.board === "text") return <pre class="board-text">{view.text}</pre>;
  return (
    <div
      class={`board ${view.board} ${active ? "active" : ""} ${small ? "small" : ""}`}
      style={{
        aspectRatio: `${width} / ${height}`,
        "--units": scale,
        "--shape": width / height,
        "--widest": `${WIDEST[view.board] ?? Math.max(26, view.cols * 7.5)}rem`,
      }}
      tabIndex={active ? 0 : undefined}
      role={active ? "application" : "img"}
      aria-label={active ? t("boardLabel") : describe(view)}
      onKeyDown={key}
      onBlur={() => setCursor(null)}
    >
      <svg
        ref={svg}
        viewBox={`0 0 ${width} ${height}`}
        aria-hidden="true"
        onMouseDown={(event) => {
          event.preventDefault();
          (document.activeElement as HTMLElement | null)?.blur();
        }} // keys go on walking
        onPointerMove={(event) => look(at(event))}
        onPointerLeave={() => look(null)}
        onClick={(event) => {
          const index = at(event);
          if (index !== null && promotions.length === 0) act(index);
        }}
      >
        {still}
        {view.board === "chess" && last.map((index) => <Square key={`l${index}`} kind="last" at={place(index)} />)}
        {chosen !== null && <Square kind="chosen" at={place(chosen)} />}
        {props.heat &&
          [...props.heat].map(([index, share]) => (
            <Heat key={index} at={place(index)} share={share} tone={props.heatTone ?? "visits"} square={!go} />
          ))}
        {things}
        {props.owners?.map((owner, index) => (
          <Owner key={index} at={place(index)} owner={owner} />
        ))}
        {ghost !== null && view.board !== "chess" && (
          <g class={pending === ghost ? "" : "ghost"}>
            <Thing view={view} what={String(view.toPlay)} at={place(ghost)} />
          </g>
        )}
        {go &&
          last.map((index) => (
            <circle
              key="last"
              class={`last on${view.cells[index]}`}
              cx={place(index)[0]}
              cy={place(index)[1]}
              r={U * 0.2}
            />
          ))}
        {view.board === "squares" && last.map((index) => <Square key="last" kind="ring" at={place(index)} />)}
        {targets.map((move) => {
          const to = squaresOf(view, move)[1];
          const [x, y] = place(to);
          return view.cells[to] === "." ? (
            <circle key={move} class="target" cx={x} cy={y} r={U * 0.15} />
          ) : (
            <circle key={move} class="target taking" cx={x} cy={y} r={U * 0.44} />
          );
        })}
        {marks
          .map(
            (mark) =>
              mark.from !== undefined && (
                <Arrow
                  key={`${mark.from} ${mark.at}`}
                  from={place(mark.from)}
                  to={place(mark.at)}
                  tone={mark.tone ?? ""}
                />
              ),
          )
          .reverse()}
        {marks
          .filter((mark, i) => marks.findIndex((other) => other.at === mark.at) === i)
          .map((mark) => (
            <MarkAt key={mark.at} view={view} at={place(mark.at)} mark={mark} on={view.cells[mark.at]} />
          ))}
        {cursor !== null && <Square kind="cursor" at={place(cursor)} />}
      </svg>
      {promotions.length > 0 && (
        <div class="promotions" role="dialog" aria-label={t("promotion")}>
          {promotions.map((move, i) => (
            <button key={move} autoFocus={i === 0} aria-label={move.slice(4)} onClick={() => onMove?.(move)}>
              <svg viewBox="0 0 45 45">
                <Piece piece={view.toPlay === 1 ? move[4].toUpperCase() : move[4]} x={0} y={0} size={45} />
              </svg>
            </button>
          ))}
        </div>
      )}
      <div class="unseen" aria-live="assertive">
        {cursor === null ? "" : `${pointName(view, cursor)} ${whatIsAt(view, cursor)}`}
      </div>
    </div>
  );
}

export function legalSpots(view: View): Set<number> {
  if (view.over) return new Set();
  if (view.board === "go") {
    const banned = new Set((view.banned ?? []).flatMap((name) => squaresOf(view, name)));
    const all = [...view.cells].map((_, index) => index);
    return new Set(all.filter((index) => view.cells[index] === "0" && !banned.has(index)));
  }
  return new Set((view.moves ?? []).map((move) => squaresOf(view, move)[0]).filter((index) => index !== undefined));
}

function whatIsAt(view: View, index: number): string {
  const cell = view.cells[index];
  if (view.board === "chess") return cell === "." ? "" : cell;
  return cell === "0" ? "" : of("player", view.players[Number(cell) - 1]);
}

function describe(view: View): string {
  const taken = [...view.cells].map((_, index) => [pointName(view, index), whatIsAt(view, index)]);
  return (
    taken
      .filter(([, what]) => what)
      .map(([name, what]) => `${name} ${what}`)
      .join(", ") || t("emptyPosition")
  );
}

type At = [number, number];

function Still({
  view,
  edge,
  width,
  height,
  flip,
  coordinates,
}: {
  view: Sized;
  edge: number;
  width: number;
  height: number;
  flip: boolean;
  coordinates: boolean;
}) {
  const cols = [...Array(view.cols).keys()];
  const rows = [...Array(view.rows).keys()];
  const mid = (n: number) => edge + n * U + U / 2;
  const [right, bottom] = [mid(view.cols - 1), mid(view.rows - 1)];
  return (
    <>
      <defs>
        <radialGradient id="black" cx="0.34" cy="0.28" r="0.85">
          <stop offset="0" stop-color="#6d6d72" />
          <stop offset="0.28" stop-color="#37373b" />
          <stop offset="0.75" stop-color="#17171a" />
          <stop offset="1" stop-color="#060607" />
        </radialGradient>
        <radialGradient id="white" cx="0.36" cy="0.3" r="0.9">
          <stop offset="0" stop-color="#ffffff" />
          <stop offset="0.55" stop-color="#f6f4ef" />
          <stop offset="0.85" stop-color="#dcd8cf" />
          <stop offset="1" stop-color="#b8b3a8" />
        </radialGradient>
        <linearGradient id="wood" x1="0" y1="0" x2="1" y2="1">
          <stop offset="0" stop-color="#ecc583" />
          <stop offset="0.5" stop-color="#e3b76f" />
          <stop offset="1" stop-color="#d9a95d" />
        </linearGradient>
        <pattern id="grain" width="90" height="400" patternUnits="userSpaceOnUse" patternTransform="rotate(3)">
          <path
            d="M8 0q6 100 0 200t0 200M27 0q-5 130 2 260t-2 140M46 0q4 90 -1 190t1 210M70 0q-6 120 0 240t0 160"
            fill="none"
            stroke="#a8742c"
            stroke-opacity="0.1"
            stroke-width="2.2"
          />
          <path
            d="M17 0q4 110 0 220t0 180M58 0q3 100 0 200t0 200M82 0q-3 100 0 200t0 200"
            fill="none"
            stroke="#fff3d0"
            stroke-opacity="0.1"
            stroke-width="3"
          />
        </pattern>
      </defs>
      {view.board === "go" ? (
        <>
          <rect width={width} height={height} fill="url(#wood)" />
          <rect width={width} height={height} fill="url(#grain)" />
          <path
            class="lines"
            d={
              cols.map((c) => `M${mid(c)} ${mid(0)}V${bottom}`).join("") +
              rows.map((r) => `M${mid(0)} ${mid(r)}H${right}`).join("")
            }
          />
          <rect class="lines outer" x={mid(0)} y={mid(0)} width={right - mid(0)} height={bottom - mid(0)} />
          {stars(view.cols).map(([r, c]) => (
            <circle
              key={r * 99 + c}
              class="star"
              cx={mid(c)}
              cy={mid(r)}
              r={3.2 * Math.max(0.7, Math.min(1.15, view.cols / 9))}
            />
          ))}
        </>
      ) : (
        <>
          <rect class={`frame ${view.board}`} width={width} height={height} />
          {rows.flatMap((r) =>
            cols.map((c) => (
              <rect
                key={r * 99 + c}
                class={(c + view.rows - 1 - r) % 2 ? "square light" : "square dark"}
                x={edge + c * U}
                y={edge + r * U}
                width={U}
                height={U}
              />
            )),
          )}
        </>
      )}
      {coordinates && (
        <g class={`coordinates ${view.board}`}>
          {cols.map((c) => {
            const name = columnName(view, flip ? view.cols - 1 - c : c);
            return [0.5, 1].map((side) => (
              <text key={`${c}.${side}`} x={mid(c)} y={side === 1 ? height - edge * 0.36 : edge * 0.66}>
                {name}
              </text>
            ));
          })}
          {rows.map((r) => {
            const name = flip ? r + 1 : view.rows - r;
            return [edge * 0.5, width - edge * 0.5].map((x) => (
              <text key={`${r}.${x}`} x={x} y={mid(r) + edge * 0.17}>
                {name}
              </text>
            ));
          })}
        </g>
      )}
    </>
  );
}

export function stars(size: number): At[] {
  if (size < 5) return [];
  const near = size < 13 ? 2 : 3;
  const middle = Math.floor(size / 2);
  const lines = [...new Set([near, size - 1 - near])];
  const found: At[] = lines.flatMap((r) => lines.map((c): At => [r, c]));
  if (size % 2 && !lines.includes(middle)) {
    found.push([middle, middle]);
    if (size >= 13) lines.forEach((line) => found.push([middle, line], [line, middle]));
  }
  return found;
}

function Things({
  view,
  cells,
  place,
  dead,
}: {
  view: Sized;
  cells: string;
  place: (index: number) => At;
  dead?: Set<number>;
}) {
  return (
    <>
      {[...cells].map((cell, index) => {
        if (cell === "0" || cell === ".") return null;
        return (
          <g key={index} class={dead?.has(index) ? "dead" : ""}>
            <Thing view={view} what={cell} at={place(index)} />
          </g>
        );
      })}
    </>
  );
}

function Thing({ view, what, at: [x, y] }: { view: Sized; what: string; at: At }) {
  if (view.board === "chess") return <Piece piece={what} x={x - U * 0.46} y={y - U * 0.46} size={U * 0.92} />;
  if (view.board === "go") {
    return (
      <>
        <circle class="shadow" cx={x + 1.3} cy={y + 2} r={U * 0.475} />
        <circle
          class={`stone s${what}`}
          cx={x}
          cy={y}
          r={U * 0.475}
          fill={what === "1" ? "url(#black)" : "url(#white)"}
        />
      </>
    );
  }
  const r = U * 0.26;
  return what === "1" ? (
    <path class="cross" d={`M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`} />
  ) : (
    <circle class="nought" cx={x} cy={y} r={r * 1.08} />
  );
}

function Square({ kind, at: [x, y] }: { kind: string; at: At }) {
  return <rect class={`mark-square ${kind}`} x={x - U / 2} y={y - U / 2} width={U} height={U} />;
}

/** From a piece to the edge of the disc on the square that it goes to. */
function Arrow({ from: [x1, y1], to: [x2, y2], tone }: { from: At; to: At; tone: string }) {
  const share = 1 - (U * 0.42) / Math.hypot(x2 - x1, y2 - y1);
  return <line class={`arrow ${tone}`} x1={x1} y1={y1} x2={x1 + (x2 - x1) * share} y2={y1 + (y2 - y1) * share} />;
}

function Heat({ at: [x, y], share, tone, square }: { at: At; share: number; tone: string; square: boolean }) {
  const opacity = Math.min(0.92, 0.1 + 0.85 * share);
  if (share <= 0) return null;
  return (
    <rect
      class={`heat ${tone}`}
      x={x - U / 2}
      y={y - U / 2}
      width={U}
      height={U}
      rx={square ? 0 : 5}
      opacity={opacity}
    />
  );
}

function Owner({ at: [x, y], owner }: { at: At; owner: number }) {
  if (Math.abs(owner) < 0.06) return null;
  const side = U * 0.42 * Math.sqrt(Math.abs(owner));
  return (
    <rect
      class={owner > 0 ? "owner first" : "owner second"}
      x={x - side / 2}
      y={y - side / 2}
      width={side}
      height={side}
      rx="2"
    />
  );
}

function MarkAt({ view, at, mark, on }: { view: View; at: At; mark: Mark; on: string }) {
  const [x, y] = at;
  const dark = mark.stone ? mark.stone === 1 : on === "1";
  return (
    <g
      class={`mark ${mark.tone ?? ""} ${mark.stone || on === "1" || on === "2" ? (dark ? "on-black" : "on-white") : ""}`}
    >
      {mark.stone !== undefined && <Thing view={view} what={String(mark.stone)} at={at} />}
      {mark.tone && <circle class="disc" cx={x} cy={y} r={U * 0.46} />}
      {mark.next && <circle class="next-ring" cx={x} cy={y} r={U * 0.47} />}
      {mark.text && (
        <text x={x} y={mark.sub ? y - 0.5 : y + 5.2} class={mark.text.length > 3 ? "long" : ""}>
          {mark.text}
        </text>
      )}
      {mark.sub && (
        <text class="sub" x={x} y={y + 11}>
          {mark.sub}
        </text>
      )}
    </g>
  );
}
