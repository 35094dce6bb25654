// The moves of a study as a tree: the main line on top, each variation in a lane of its own.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type StudyTree } from "./messages";
import { t } from "./words";

const STEP = 26;

export function childrenOf(tree: StudyTree): number[][] {
  const children: number[][] = tree.parents.map(() => []);
  tree.parents.forEach((parent, node) => parent >= 0 && children[parent].push(node));
  return children;
}

/** The nodes from the start to a node, and from there along the first children. */
export function lineThrough(tree: StudyTree, node: number): number[] {
  const children = childrenOf(tree);
  const line: number[] = [];
  for (let here = node; here >= 0; here = tree.parents[here]) line.unshift(here);
  for (let next = children[node][0]; next !== undefined; next = children[next][0]) line.push(next);
  return line;
}

export function MoveTree({
  tree,
  at,
  onGo,
  tones,
}: {
  tree: StudyTree;
  at: number;
  onGo: (node: number) => void;
  tones: Map<number, string>;
}) {
  const box = useRef<HTMLDivElement>(null);
  const { place, lanes, depth } = useMemo(() => layout(tree), [tree]);
  useEffect(() => {
    const [x, y] = place[at] ?? [0, 0];
    box.current?.scrollTo({
      left: x * STEP - box.current.clientWidth / 2,
      top: y * STEP - box.current.clientHeight / 2,
    });
  }, [at, place]);
  return (
    <div class="tree" ref={box} tabIndex={0} role="tree" aria-label={t("moves")}>
      <svg role="presentation" width={(depth + 1) * STEP + 8} height={lanes * STEP + 8}>
        {tree.parents.map((parent, node) => {
          if (parent < 0) return null;
          const [x1, y1] = place[parent];
          const [x2, y2] = place[node];
          return (
            <path
              key={node}
              class="edge"
              d={`M${mid(x1)} ${mid(y1)}${y1 === y2 ? "" : `L${mid(x2 - 1)} ${mid(y2)}`}L${mid(x2)} ${mid(y2)}`}
            />
          );
        })}
        {place.map(([x, y], node) => (
          <g
            key={node}
            class={`node mover${tree.movers[node]} ${node === at ? "here" : ""} ${tones.get(node) ?? ""}`}
            role="treeitem"
            aria-label={node === 0 ? t("walkStart") : `${x} ${tree.moves[node]}`.trim()}
            aria-selected={node === at}
            onClick={() => onGo(node)}
          >
            <circle cx={mid(x)} cy={mid(y)} r="10.5">
              <title>{tree.moves[node]}</title>
            </circle>
            <text x={mid(x)} y={mid(y) + 3.5}>
              {x || ""}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

function mid(place: number): number {
  return place * STEP + STEP / 2 + 4;
}

/** Where each node is: how deep, and in which lane. */
export function layout(tree: StudyTree): { place: [number, number][]; lanes: number; depth: number } {
  const children = childrenOf(tree);
  const place: [number, number][] = tree.parents.map(() => [0, 0]);
  const free: number[] = []; // the next free lane at each depth
  let depth = 0;
  const todo: [number, number, number][] = [[0, 0, 0]];
  while (todo.length) {
    const [start, level, least] = todo.pop()!;
    const line: number[] = [];
    for (let node: number | undefined = start; node !== undefined; node = children[node][0]) line.push(node);
    let lane = least;
    for (let i = Math.max(0, level - 1); i < level + line.length; i++) lane = Math.max(lane, free[i] ?? 0);
    line.forEach((node, i) => {
      place[node] = [level + i, lane];
      free[level + i] = lane + 1;
      depth = Math.max(depth, level + i);
    });
    if (level > 0) free[level - 1] = Math.max(free[level - 1] ?? 0, lane + 1);
    line.forEach((node, i) =>
      children[node]
        .slice(1)
        .reverse()
        .forEach((child) => todo.push([child, level + i + 1, lane + 1])),
    );
  }
  return { place, lanes: Math.max(1, ...place.map(([, lane]) => lane + 1)), depth };
}
