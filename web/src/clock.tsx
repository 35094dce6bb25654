// Clocks of people: to be chosen before a game, and running in it. The server decides; the page counts on in between.
import { useEffect, useRef, useState } from "preact/hooks";
import { Field, Select } from "./setup";
import { type ClockView, type TimeControl } from "./messages";
import { t } from "./words";

const LOW = 10; // seconds

export interface ClockForm {
  system: "none" | "byoyomi" | "fischer";
  minutes: number;
  periods: number;
  period: number;
  increment: number;
}
export const NO_CLOCK: ClockForm = { system: "none", minutes: 10, periods: 3, period: 30, increment: 10 };

/** What the server is asked for; null: no clock. */
export function timeControl(form: ClockForm): TimeControl | null {
  const none = { main: form.minutes * 60, periods: 0, period: 0, increment: 0 };
  if (form.system === "none") return null;
  return form.system === "byoyomi"
    ? { ...none, periods: form.periods, period: form.period }
    : { ...none, increment: form.increment };
}

export function ClockChoice({ form, onChange }: { form: ClockForm; onChange: (form: ClockForm) => void }) {
  const number = (name: "minutes" | "periods" | "period" | "increment", label: string, most: number) => (
    <Field label={label}>
      <input
        type="number"
        min={name === "minutes" || name === "increment" ? 0 : 1}
        max={most}
        value={form[name]}
        onChange={(e) => onChange({ ...form, [name]: Math.max(0, Math.min(most, e.currentTarget.valueAsNumber || 0)) })}
      />
    </Field>
  );
  return (
    <>
      <Field label={t("clock")}>
        <Select
          value={form.system}
          choices={[
            ["none", t("none")],
            ["byoyomi", t("byoyomi")],
            ["fischer", t("fischer")],
          ]}
          onChange={(system) => onChange({ ...form, system: system as ClockForm["system"] })}
        />
      </Field>
      {form.system !== "none" && (
        <div class={form.system === "byoyomi" ? "pair three" : "pair"}>
          {number("minutes", t("mainMinutes"), 600)}
          {form.system === "byoyomi" && number("periods", t("periods"), 100)}
          {form.system === "byoyomi" && number("period", t("periodSeconds"), 3600)}
          {form.system === "fischer" && number("increment", t("increment"), 3600)}
        </div>
      )}
    </>
  );
}

/** The time that a player has left. */
export function Clock({ clock, player }: { clock: ClockView; player: number }) {
  const [, tick] = useState(0);
  const newest = useRef({ clock, heard: performance.now() });
  if (newest.current.clock !== clock) newest.current = { clock, heard: performance.now() };
  const runs = clock.running && clock.player === player;
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(() => tick((n) => n + 1), 200);
    return () => clearInterval(timer);
  }, [runs]);
  const used =
    clock.player === player ? clock.used + (runs ? (performance.now() - newest.current.heard) / 1000 : 0) : 0;
  const { seconds, periods } = timeLeft(clock, player, used);
  return (
    <span
      class={`clock ${runs ? "runs" : ""} ${runs && seconds < LOW ? "low" : ""}`}
      role="timer"
      aria-label={t("clock")}
    >
      {minutes(seconds)}
      {periods > 0 && <small> × {periods}</small>}
    </span>
  );
}

/** Seconds of the main time or of the period under way, and the periods that are left. */
export function timeLeft(clock: ClockView, player: number, used: number): { seconds: number; periods: number } {
  const [main, periods] = clock.left[player - 1];
  if (used < main || periods === 0) return { seconds: Math.max(0, main - used), periods };
  const over = used - main;
  const gone = Math.min(periods, Math.floor(over / clock.period));
  return { seconds: gone === periods ? 0 : clock.period - (over - gone * clock.period), periods: periods - gone };
}

export function minutes(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, rest] = [Math.floor(whole / 3600), whole % 3600];
  const short = `${Math.floor(rest / 60)}:${String(rest % 60).padStart(2, "0")}`;
  return hours ? `${hours}:${short.padStart(5, "0")}` : short;
}
