// A study that is there: its tree and its position, and how to walk through it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Actions, type StudyPosition, type StudyTree } from "./messages";
import { Select } from "./setup";
import { ask, type AskedOfOne, askOf, drop, useConnected, useTopic } from "./talk";
import { childrenOf, lineThrough } from "./tree";
import { t } from "./words";

const TOPICS = ["study", "position", "analysis", "graph"] as const;

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
  act: <A extends AskedOfOne>(action: A, fields: Omit<Actions[A]["asks"], "id">) => Promise<Actions[A]["gets"] | void>;
}

/** Opens a study and shows it once it is there. */
export function WithStudy({
  id,
  onGone,
  children: show,
}: {
  id: string;
  onGone: () => void;
  children: (study: Study) => preact.ComponentChild;
}) {
  const tree = useTopic("study");
  const position = useTopic("position");
  const [problem, setProblem] = useState("");
  const aim = useRef({ node: 0, asked: false }); // where we are, or asked to go: keys are faster than the server and than drawing
  const act: Study["act"] = (action, fields) =>
    askOf(id, action, fields).then(
      (answer) => (setProblem(""), answer),
      (error: Error) => setProblem(error.message),
    );
  useConnected(() => void ask("study.open", { id }).catch(() => setProblem(t("studyGone"))));
  useEffect(() => () => TOPICS.forEach(drop), [id]);
  const children = useMemo(() => (tree ? childrenOf(tree) : []), [tree]);
  if (tree === null || tree.id !== id || position === null || position.node >= tree.parents.length)
    return (
      <main class="loading">
        {problem ? (
          <>
            <p class="problem" role="alert">
              {problem}
            </p>
            <button onClick={onGone}>{t("otherRecord")}</button>
          </>
        ) : (
          "…"
        )}
      </main>
    );
  if (!aim.current.asked || aim.current.node === position.node) aim.current = { node: position.node, asked: false };
  const go = (node: number | undefined) => {
    if (node === undefined || node < 0) return;
    aim.current = { node, asked: true };
    void ask("study.go", { id, node }).catch((error: Error) => {
      aim.current.asked = false;
      setProblem(error.message);
    });
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
        ArrowLeft: () => step(-1),
        ArrowRight: () => step(1),
        PageUp: () => step(-10),
        PageDown: () => step(10),
        Home: () => step(-9999),
        End: () => step(9999),
        ArrowUp: () => sibling(-1),
        ArrowDown: () => sibling(1),
        ...others,
      };
      if (event.key in keys) {
        event.preventDefault();
        keys[event.key]();
      }
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
      <button aria-label={t("walkStart")} onClick={() => step(-9999)}>
        «
      </button>
      <button class="far" aria-label={`${t("walkBack")} 10`} onClick={() => step(-10)}>
        −10
      </button>
      <button aria-label={t("walkBack")} onClick={() => step(-1)}>
        ‹
      </button>
      <span class="count">
        {line.indexOf(position.node)} / {line.length - 1}
      </span>
      <button aria-label={t("walkForward")} onClick={() => step(1)}>
        ›
      </button>
      <button class="far" aria-label={`${t("walkForward")} 10`} onClick={() => step(10)}>
        +10
      </button>
      <button aria-label={t("walkEnd")} onClick={() => step(9999)}>
        »
      </button>
      {position.canPass && <button onClick={() => play("pass")}>{t("pass")}</button>}
    </div>
  );
}

/** Who analyses. */
export function Analysts({
  tree,
  spec,
  onChange,
}: {
  tree: StudyTree;
  spec: string;
  onChange: (spec: string) => void;
}) {
  const [own, setOwn] = useState(false);
  if (own)
    return (
      <input
        class="mono"
        aria-label={t("spec")}
        value={spec}
        maxLength={200}
        spellcheck={false}
        onChange={(e) => onChange(e.currentTarget.value)}
      />
    );
  return (
    <Select
      label={t("agent")}
      value={spec}
      choices={[...new Set([...tree.analysts, spec].filter(Boolean))]
        .map((one): [string, string] => [one, one])
        .concat([["…", t("bySpec")]])}
      onChange={(chosen) => (chosen === "…" ? setOwn(true) : onChange(chosen))}
    />
  );
}
