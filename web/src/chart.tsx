// Lines over numbers, drawn in the colours of the page. Clicking chooses a place.
import { useRef, useState } from "preact/hooks";

export interface Line {
  name: string;
  points: [number, number][];
  tone: string;
}

export interface ChartProps {
  lines: Line[];
  height?: number;
  /** The range of the axis, where it is not that of the points. */
  low?: number;
  high?: number;
  middle?: number;
  at?: number;
  marks?: { x: number; y: number; tone: string; title: string }[];
  onChoose?: (x: number) => void;
  show?: (y: number) => string;
  label: string;
}

const WIDTH = 600;

export function Chart({
  lines,
  height = 150,
  low,
  high,
  middle,
  at,
  marks = [],
  onChoose,
  show = short,
  label,
}: ChartProps) {
  const [hover, setHover] = useState<number | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const all = lines.flatMap((line) => line.points);
  if (all.length === 0) return null;
  const xs = all.map(([x]) => x);
  const ys = all.map(([, y]) => y);
  const [left, right] = [Math.min(...xs), Math.max(...xs, Math.min(...xs) + 1)];
  const [floor, top] = spread(low ?? Math.min(...ys), high ?? Math.max(...ys));
  const px = (x: number) => ((x - left) / (right - left)) * (WIDTH - 12) + 6;
  const py = (y: number) => height - 8 - ((y - floor) / (top - floor)) * (height - 16);
  const where = (event: MouseEvent) => {
    const box = svg.current!.getBoundingClientRect();
    const x = left + ((((event.clientX - box.left) / box.width) * WIDTH - 6) / (WIDTH - 12)) * (right - left);
    return xs.reduce((best, one) => (Math.abs(one - x) < Math.abs(best - x) ? one : best), xs[0]);
  };
  return (
    <figure class="chart">
      <svg
        ref={svg}
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        style={{ height: `${height}px` }}
        role="img"
        aria-label={label}
        class={onChoose ? "choosable" : ""}
        onPointerMove={(event) => setHover(where(event))}
        onPointerLeave={() => setHover(null)}
        onClick={(event) => onChoose?.(where(event))}
      >
        {middle !== undefined && <line class="middle" x1="0" x2={WIDTH} y1={py(middle)} y2={py(middle)} />}
        {lines.map((line) => (
          <g key={line.name} class={`line ${line.tone}`}>
            {line.tone === "first" && (
              <path
                class="area"
                d={`${path(line.points, px, py)}L${px(line.points.at(-1)?.[0] ?? 0)} ${py(floor)}L${px(line.points[0]?.[0] ?? 0)} ${py(floor)}Z`}
              />
            )}
            <path class="stroke" d={path(line.points, px, py)} />
          </g>
        ))}
        {at !== undefined && <line class="at" x1={px(at)} x2={px(at)} y1="0" y2={height} />}
        {hover !== null && <line class="hover" x1={px(hover)} x2={px(hover)} y1="0" y2={height} />}
      </svg>
      {marks.map((mark) => (
        <button
          key={mark.x}
          class={`dot ${mark.tone}`}
          title={mark.title}
          aria-label={mark.title}
          style={{ left: `${(px(mark.x) / WIDTH) * 100}%`, top: `${py(mark.y)}px` }}
          onClick={() => onChoose?.(mark.x)}
        />
      ))}
      <figcaption>
        <span>{hover === null ? `${show(floor)} – ${show(top)}` : String(hover)}</span>
        {lines.map((line) => {
          const point =
            line.points.find(([x]) => x === (hover ?? at)) ?? (hover === null ? line.points.at(-1) : undefined);
          return (
            <span key={line.name} class={`legend ${line.tone}`}>
              {line.name} {point ? show(point[1]) : ""}
            </span>
          );
        })}
      </figcaption>
    </figure>
  );
}

function path(points: [number, number][], px: (x: number) => number, py: (y: number) => number): string {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
}

function spread(low: number, high: number): [number, number] {
  return high - low < 1e-9 ? [low - 0.5, high + 0.5] : [low, high];
}

export function short(value: number): string {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}
