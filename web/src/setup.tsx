// Before a game: what to play, against whom; and the games that were played here.
import { useEffect, useState } from "preact/hooks";
import { ClockChoice, NO_CLOCK, timeControl } from "./clock";
import {
  type Actions,
  type Catalogue,
  type GameInfo,
  type GivenRecord,
  type ListedGame,
  type OpponentInfo,
} from "./messages";
import { ask, useConnected } from "./talk";
import { fill, fromServer, of, t, type Word } from "./words";

/** Options of a game by name, those that differ from what is usual. */
export type Choice = Record<string, string | number | boolean>;

export function levelName(key: string): string {
  return key.startsWith("spec:") ? key.slice(5) : of("level", key);
}

/** The options of a game, to be filled in; `given` has those that differ from what is usual. */
export function GameOptions({
  game,
  given,
  onChange,
}: {
  game: GameInfo;
  given: Choice;
  onChange: (given: Choice) => void;
}) {
  const set = (name: string, value: string | number | boolean) => onChange({ ...given, [name]: value });
  if (game.go === undefined) {
    return (
      <>
        {game.options.map((option) => (
          <Field key={option.name} label={word(option.name)}>
            {option.kind === "bool" ? (
              <input
                type="checkbox"
                checked={(given[option.name] ?? option.default) === true}
                onChange={(e) => set(option.name, e.currentTarget.checked)}
              />
            ) : option.choices.length ? (
              <Select
                value={String(given[option.name] ?? option.default)}
                choices={option.choices.map((name) => [name, of("rules", name)])}
                onChange={(value) => set(option.name, value)}
              />
            ) : (
              <input
                value={String(given[option.name] ?? option.default ?? "")}
                onChange={(e) => set(option.name, e.currentTarget.value)}
              />
            )}
          </Field>
        ))}
      </>
    );
  }
  const { go, rules, size, most, usual } = goForm(game, given);
  return (
    <>
      <Field group label={t("size")}>
        <div class="segments">
          {go.sizes.map((n) => (
            <button
              type="button"
              key={n}
              aria-pressed={n === size}
              onClick={() => onChange({ ...without(given, "komi", "handicap"), size: n })}
            >
              {n}×{n}
            </button>
          ))}
          <input
            type="number"
            aria-label={t("size")}
            min={go.smallest}
            max={go.largest}
            value={size}
            onChange={(e) =>
              onChange({
                ...without(given, "komi", "handicap"),
                size: clamp(e.currentTarget.valueAsNumber, go.smallest, go.largest, go.size),
              })
            }
          />
        </div>
      </Field>
      <Field label={t("rules")}>
        <Select
          value={rules.name}
          choices={game.rules!.map((one) => [one.name, of("rules", one.name)])}
          onChange={(name) =>
            onChange({
              ...without(given, "komi", "size"),
              rules: name,
              size: game.rules!.find((one) => one.name === name && one.size !== go.size)?.size ?? size,
            })
          }
        />
      </Field>
      <div class="pair">
        <Field label={t("komi")}>
          <input
            type="number"
            step="0.5"
            value={Number(given.komi ?? usual)}
            onChange={(e) => set("komi", clamp(e.currentTarget.valueAsNumber, -100, 100, usual))}
          />
        </Field>
        <Field label={t("handicap")}>
          <Select
            value={String(given.handicap ?? 0)}
            choices={[
              ["0", t("none")],
              ...Array.from({ length: Math.max(0, most - 1) }, (_, i): [string, string] => [
                String(i + 2),
                String(i + 2),
              ]),
            ]}
            onChange={(value) => onChange({ ...without(given, "komi"), handicap: Number(value) })}
          />
        </Field>
      </div>
    </>
  );
}

/** What a form for Go shows: the rules, the size, the most handicap stones, and the komi that is usual with all this. */
function goForm(game: GameInfo, given: Choice) {
  const go = game.go!;
  const name = given.rules ?? game.options.find((option) => option.name === "rules")?.default;
  const rules = game.rules!.find((one) => one.name === name) ?? game.rules![0];
  const size = Number(given.size ?? rules.size);
  const usual = given.handicap ? go.handicapKomi : (go.komi[String(size)] ?? rules.komi);
  return { go, rules, size, most: go.handicaps[String(size)] ?? 0, usual };
}

/** The choice that a form begins with. */
export function usualChoice(catalogue: Catalogue, name: string): Choice {
  const go = catalogue.games.find((one) => one.name === name)?.go;
  return go === undefined ? {} : { size: go.size };
}

/** What the server is asked for: the komi that the form shows. */
export function asOptions(game: GameInfo, given: Choice): Choice {
  return game.go === undefined ? given : { ...given, komi: given.komi ?? goForm(game, given).usual };
}

/** Which game, and how. */
export function GameChoice({
  catalogue,
  game,
  given,
  onChange,
}: {
  catalogue: Catalogue;
  game: GameInfo;
  given: Choice;
  onChange: (name: string, given: Choice) => void;
}) {
  return (
    <>
      <div class="segments wide" role="group" aria-label={t("game")}>
        {catalogue.games.map((one) => (
          <button
            type="button"
            key={one.name}
            aria-pressed={one === game}
            onClick={() => onChange(one.name, usualChoice(catalogue, one.name))}
          >
            {of("game", one.name) === one.name ? one.title : of("game", one.name)}
          </button>
        ))}
      </div>
      <GameOptions game={game} given={given} onChange={(changed) => onChange(game.name, changed)} />
    </>
  );
}

/** An agent, or a person where that is possible. */
export interface Player {
  level: string;
  /** For the level `spec`. */
  spec: string;
}

/** How the server is told who plays. */
export function playerKey({ level, spec }: Player): string {
  return level === "spec" ? `spec:${spec}` : level;
}

/** A player that can play here: levels differ from game to game. */
export function possible(player: Player, levels: OpponentInfo[]): Player {
  return levels.length === 0 || ["human", "spec", ...levels.map((one) => one.key)].includes(player.level)
    ? player
    : { ...player, level: "casual" };
}

export function PlayerChoice({
  label,
  player,
  levels,
  human = false,
  onChange,
}: {
  label: string;
  player: Player;
  levels: OpponentInfo[];
  human?: boolean;
  onChange: (player: Player) => void;
}) {
  const info = levels.find((one) => one.key === player.level);
  const people: [string, string][] = human ? [["human", t("level.human")]] : [];
  return (
    <>
      <Field label={label}>
        <Select
          value={player.level}
          choices={[
            ...people,
            ...levels.map((one): [string, string] => [
              one.key,
              levelName(one.key) + (one.rating === null ? "" : ` · ${one.rating}`),
            ]),
            ["spec", t("bySpec")],
          ]}
          onChange={(level) => onChange({ ...player, level })}
        />
      </Field>
      {player.level === "spec" && (
        <Field label={t("spec")}>
          <input
            class="mono"
            value={player.spec}
            maxLength={200}
            spellcheck={false}
            onChange={(e) => onChange({ ...player, spec: e.currentTarget.value })}
          />
        </Field>
      )}
      {info && (
        <p class="about-level">
          <code>{info.spec}</code>
          {info.rating !== null && (
            <>
              {" "}
              · {t("ratingHere")} {info.rating}
            </>
          )}
          {info.measured && <> · {info.measured}</>}
        </p>
      )}
    </>
  );
}

/** A form that is kept in the browser: the game with its options, and who can play it. */
export function useGameForm<Rest extends object>(catalogue: Catalogue, key: string, usual: Rest) {
  const [form, setForm] = useState<{ game: string; given: Choice } & Rest>({
    game: "go",
    given: usualChoice(catalogue, "go"),
    ...usual,
    ...JSON.parse(localStorage.getItem(key) ?? "{}"),
  });
  const [levels, setLevels] = useState<OpponentInfo[]>([]);
  const [problem, setProblem] = useState("");
  const game =
    catalogue.games.find((one) => one.name === form.game) ?? catalogue.games.find((one) => one.name === "go")!;
  const options = asOptions(game, form.given);
  const asked = JSON.stringify({ game: game.name, options });
  useEffect(() => localStorage.setItem(key, JSON.stringify(form)), [key, form]);
  useEffect(() => {
    let stale = false;
    ask("play.opponents", JSON.parse(asked) as Actions["play.opponents"]["asks"]).then(
      (found) => !stale && (setLevels(found), setProblem("")),
      (error: Error) => !stale && setProblem(error.message),
    );
    return () => void (stale = true);
  }, [asked]);
  const set = (changed: Partial<typeof form>) => setForm((now) => ({ ...now, ...changed }));
  return { form, set, game, options, levels, problem, setProblem };
}

export function Setup({ catalogue, onGame }: { catalogue: Catalogue; onGame: (id: string) => void }) {
  const { form, set, game, options, levels, problem, setProblem } = useGameForm(catalogue, "setup", {
    side: "1",
    level: "beginner",
    spec: "uct:playouts=1000",
    clock: NO_CLOCK,
  });
  const [games, setGames] = useState<ListedGame[] | null>(null);
  useConnected(() => void ask("play.list", {}).then(setGames, () => setGames([])));

  const opponent = possible(form, levels);
  const watching = form.side === "watch" && opponent.level !== "human";
  function players(): [string, string] {
    const other = playerKey(opponent);
    if (other === "human") return ["human", "human"];
    return watching ? [other, other] : form.side === "1" ? ["human", other] : [other, "human"];
  }
  const sides = () => ({ players: players(), clock: watching ? null : timeControl(form.clock) });
  const begin = (asked: Promise<{ id: string }>) =>
    void asked.then(
      ({ id }) => onGame(id),
      (error: Error) => setProblem(error.message),
    );

  return (
    <main class="setup">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          begin(ask("play.new", { game: game.name, options, ...sides() }));
        }}
      >
        <h2>{t("newGame")}</h2>
        <GameChoice
          catalogue={catalogue}
          game={game}
          given={form.given}
          onChange={(name, given) => set({ game: name, given })}
        />
        <PlayerChoice
          label={t("opponent")}
          player={opponent}
          levels={levels}
          human
          onChange={({ level, spec }) => set({ level, spec })}
        />
        {opponent.level !== "human" && (
          <Field group label={t("yourSide")}>
            <div class="segments wide">
              {[
                ["1", of("player", game.players[0])],
                ["2", of("player", game.players[1])],
                ["watch", t("watch")],
              ].map(([key, text]) => (
                <button type="button" key={key} aria-pressed={form.side === key} onClick={() => set({ side: key })}>
                  {text}
                </button>
              ))}
            </div>
          </Field>
        )}
        {!watching && <ClockChoice form={form.clock} onChange={(clock) => set({ clock })} />}
        {problem && (
          <p class="problem" role="alert">
            {fromServer(problem)}
          </p>
        )}
        <button class="primary" type="submit">
          {t("start")}
        </button>
      </form>
      <div class="column">
        <OpenRecord onRecord={(record) => begin(ask("play.load", { ...record, ...sides() }))} />
        <section class="card">
          <h2>{t("recentGames")}</h2>
          {games?.length === 0 && <p class="quiet">{t("noGames")}</p>}
          <ul class="games">
            {games?.map((one) => (
              <li key={one.id}>
                <a href={`#/play/${one.id}`}>
                  <strong>{fromServer(one.about)}</strong>
                  <span>
                    {one.players.map((player) => (player === "human" ? t("you") : levelName(player))).join(" – ")} ·{" "}
                    {fill("moveCount", one.moves)}
                    {one.result && ` · ${fromServer(one.result)}`}
                  </span>
                </a>
                <button
                  class="quiet-button"
                  aria-label={`${t("remove")}: ${fromServer(one.about)}`}
                  onClick={() =>
                    void ask("play.remove", { id: one.id }).then(() =>
                      setGames(games.filter((other) => other.id !== one.id)),
                    )
                  }
                >
                  ✕
                </button>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </main>
  );
}

const LARGEST = 700_000; // bytes of a record: in Base64 a message has a third more

function isTooLarge(text: string): boolean {
  return text.length > LARGEST || new TextEncoder().encode(text).length > LARGEST;
}

async function inBase64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let letters = "";
  for (let at = 0; at < bytes.length; at += 8192) letters += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(letters);
}

/** A place to drop, choose or paste a record. */
export function OpenRecord({ onRecord }: { onRecord: (record: GivenRecord) => void }) {
  const [over, setOver] = useState(false);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const read = (file: File | undefined) => {
    if (!file) return;
    setProblem(file.size < LARGEST ? "" : t("tooLarge"));
    if (file.size < LARGEST) void inBase64(file).then((data) => onRecord({ data }));
  };
  return (
    <section
      class={`card drop ${over ? "over" : ""}`}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        e.preventDefault();
        setOver(false);
        read(e.dataTransfer?.files[0]);
      }}
    >
      <h2>{t("load")}</h2>
      <p class="quiet">{t("loadHint")}</p>
      <textarea
        aria-label={t("loadHint")}
        rows={2}
        spellcheck={false}
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
        placeholder="(;GM[1]SZ[9]…)"
      />
      <div class="row">
        <label class="button">
          {t("load")}…
          <input
            type="file"
            class="unseen"
            accept=".sgf,.pgn,.json,text/plain"
            onChange={(e) => read(e.currentTarget.files?.[0])}
          />
        </label>
        <button
          type="button"
          disabled={!text.trim()}
          onClick={() => {
            const large = isTooLarge(text);
            setProblem(large ? t("tooLarge") : "");
            if (!large) onRecord({ record: text });
          }}
        >
          {t("goOn")}
        </button>
      </div>
      {problem && (
        <p class="problem" role="alert">
          {fromServer(problem)}
        </p>
      )}
    </section>
  );
}

export function Field({
  label,
  group = false,
  children,
}: {
  label: string;
  group?: boolean;
  children: preact.ComponentChildren;
}) {
  if (group)
    return (
      <div class="field" role="group" aria-label={label}>
        <span>{label}</span>
        {children}
      </div>
    ); // several controls
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

export function Select({
  value,
  choices,
  onChange,
  label,
}: {
  value: string;
  choices: [string, string][];
  onChange: (value: string) => void;
  label?: string;
}) {
  return (
    <select value={value} aria-label={label} onChange={(e) => onChange(e.currentTarget.value)}>
      {choices.map(([key, text]) => (
        <option key={key} value={key}>
          {text}
        </option>
      ))}
    </select>
  );
}

function word(name: string): string {
  return name === "rules" || name === "double_step" ? t(name as Word) : name.replace("_", " ");
}

function clamp(value: number, low: number, high: number, otherwise: number): number {
  return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
}

function without(given: Choice, ...names: string[]): Choice {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));
}
