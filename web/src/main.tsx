// The page: its head, and which part of it is shown. Parts go by the address: #/play/GAME, #/analyse/STUDY.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Analyse, AnalyseStart } from "./analyse";
import { Explain } from "./explain";
import { Learn } from "./learn";
import { Match, MatchStart } from "./match";
import { Play } from "./play";
import { Setup } from "./setup";
import { type Catalogue } from "./messages";
import { setSound, soundIsOn } from "./sound";
import { WithStudy } from "./study";
import { ask, startTalking, useConnected, useTopic } from "./talk";
import { currentLanguage, of, pickLanguage, setLanguage, t, type Word } from "./words";
import icon from "./icon.svg";
import "./style.css";

const PARTS: Word[] = ["play", "analyse", "explain", "match", "learn"];
type Theme = "auto" | "light" | "dark";

function App() {
  const [route, setRoute] = useState(location.hash);
  const [catalogue, setCatalogue] = useState<Catalogue | null>(null);
  const [language, changeLanguage] = useState(currentLanguage());
  const connection = useTopic("connection");
  useEffect(() => {
    const listener = () => setRoute(location.hash);
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, []);
  useConnected(() => void ask("hello", {}).then(setCatalogue, () => undefined)); // it asks again when it is connected
  const [part, rest] = route.replace(/^#\/?/, "").split("/");
  const shown = PARTS.includes(part as Word) ? part : "play";
  const board = useTopic(shown === "play" ? "game" : "position");
  const run = shown === "learn" && rest ? decodeURIComponent(rest) : "";
  const what =
    rest && board && shown !== "match" && shown !== "learn"
      ? `${of("game", board.game)} ${board.cols}×${board.rows}`
      : run;
  const title = [what, t(shown as Word), "Tengen"].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <div class="page" key={language}>
      <header>
        <a class="brand" href="#/play">
          <img src={icon} alt="" width="28" height="28" />
          <span>Tengen</span>
        </a>
        <nav aria-label="Tengen">
          {PARTS.map((name) => (
            <a key={name} href={`#/${name}`} aria-current={name === shown ? "page" : undefined}>
              {t(name)}
            </a>
          ))}
        </nav>
        <Settings
          onLanguage={() => {
            const chosen = language === "en" ? "ko" : "en";
            setLanguage(chosen);
            localStorage.setItem("language", chosen);
            document.documentElement.lang = chosen;
            changeLanguage(chosen);
          }}
        />
        {connection?.open === false && (
          <div class="banner" role="status">
            {t("connectionLost")}
          </div>
        )}
        <h1 class="unseen">{[run, t(shown as Word), "Tengen"].filter(Boolean).join(" · ")}</h1>
      </header>
      {catalogue === null ? <main class="loading">…</main> : <Part name={shown} rest={rest} catalogue={catalogue} />}
    </div>
  );
}

function Part({ name, rest, catalogue }: { name: string; rest: string | undefined; catalogue: Catalogue }) {
  const go = (to: string) => (location.hash = to);
  switch (name) {
    case "analyse":
      return rest ? (
        <WithStudy key={rest} id={rest} onGone={() => go("#/analyse")}>
          {(study) => <Analyse study={study} onLeave={() => go("#/analyse")} />}
        </WithStudy>
      ) : (
        <AnalyseStart part="analyse" catalogue={catalogue} onStudy={(id) => go(`#/analyse/${id}`)} />
      );
    case "explain":
      return rest ? (
        <WithStudy key={rest} id={rest} onGone={() => go("#/explain")}>
          {(study) => <Explain study={study} />}
        </WithStudy>
      ) : (
        <AnalyseStart
          part="explain"
          empty="explainStart"
          catalogue={catalogue}
          onStudy={(id) => go(`#/explain/${id}`)}
        />
      );
    case "match":
      return rest ? (
        <Match key={rest} id={rest} onLeave={() => go("#/match")} onStudy={(id) => go(`#/analyse/${id}`)} />
      ) : (
        <MatchStart catalogue={catalogue} onMatch={(id) => go(`#/match/${id}`)} />
      );
    case "learn":
      return (
        <Learn
          name={rest === undefined ? "" : decodeURIComponent(rest)}
          onStudy={(id) => go(`#/analyse/${id}`)}
          onGame={(id) => go(`#/play/${id}`)}
        />
      );
    default:
      return rest ? (
        <Play key={rest} id={rest} onLeave={() => go("#/play")} />
      ) : (
        <Setup catalogue={catalogue} onGame={(id) => go(`#/play/${id}`)} />
      );
  }
}

function Settings({ onLanguage }: { onLanguage: () => void }) {
  const [theme, setTheme] = useState<Theme>((localStorage.getItem("theme") as Theme | null) ?? "auto");
  const [sound, changeSound] = useState(soundIsOn());
  useEffect(() => {
    localStorage.setItem("theme", theme);
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const next: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
  return (
    <div class="settings">
      <button
        class="icon"
        aria-pressed={sound}
        title={t("sound")}
        aria-label={t("sound")}
        onClick={() => {
          setSound(!sound);
          changeSound(!sound);
        }}
      >
        {sound ? "♪" : <s>♪</s>}
      </button>
      <button
        class="icon"
        title={`${t("theme")}: ${theme}`}
        aria-label={`${t("theme")}: ${theme}`}
        onClick={() => setTheme(next[theme])}
      >
        {{ auto: "◐", light: "☀", dark: "☾" }[theme]}
      </button>
      <button class="icon text" onClick={onLanguage}>
        {t("language")}
      </button>
    </div>
  );
}

pickLanguage();
startTalking();
document.documentElement.lang = currentLanguage();
document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "auto";
render(<App />, document.getElementById("app")!);
