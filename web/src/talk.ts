// The websocket to the server: questions with answers, and news by topic. It connects again when it is cut off, and says so when the
// server is silent.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Actions, type Topics } from "./messages";

type Fields = object;
type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void };
type Answer = { re: number; ok?: unknown; error?: string };
type News = { on: string; set: Fields; whole?: boolean };
/** What this page itself knows, beside the server's topics. */
type AllTopics = Topics & { connection: { open: boolean } };
/** The name of something that can be asked. */
export type Asked = keyof Actions;
/** What is asked about one game, study or match. */
export type AskedOfOne = { [A in Asked]: Actions[A]["asks"] extends { id: string } ? A : never }[Asked];

const news = new Map<string, Fields>();
const listeners = new Map<string, Set<() => void>>();
const waiting = new Map<number, Waiting>();
const onConnect = new Set<() => void>();
let socket: WebSocket | null = null;
let count = 0;
let delay = 300;
let heard = performance.now();
let silent = false; // the server does not answer, though the connection is there

const LOST = "the connection was lost";
const LOOK = 1000; // milliseconds between two looks at how long the server has been silent
const PATIENCE = 2000; // that it may take to answer
const IDLE = 6000; // between two questions whether it is there when nobody has asked anything

/** Open the connection, and open it again whenever it is lost. */
export function startTalking(): void {
  connect();
  void look();
}

function connect(): void {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const opened = new WebSocket(`${scheme}://${location.host}/talk`);
  opened.onopen = () => {
    socket = opened;
    delay = 300;
    listen();
    tell("connection", { open: true }, true);
    onConnect.forEach((again) => again());
  };
  opened.onmessage = (event) => {
    listen();
    receive(JSON.parse(event.data as string) as Answer | News);
  };
  opened.onclose = () => {
    socket = null;
    tell("connection", { open: false }, true);
    waiting.forEach(({ reject }) => reject(new Error(LOST)));
    waiting.clear();
    setTimeout(connect, delay);
    delay = Math.min(5000, delay * 1.6);
  };
}

/** The server is there. */
function listen(): void {
  heard = performance.now();
  if (silent) tell("connection", { open: socket !== null }, true);
  silent = false;
}

/** A websocket that nothing comes through looks like one with nothing to say: ask for the page's head in another way. */
async function look(): Promise<void> {
  const patience = waiting.size > 0 || silent ? PATIENCE : IDLE;
  if (socket !== null && !document.hidden && performance.now() - heard > patience) {
    try {
      await fetch("/", { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
      listen();
    } catch {
      silent = true;
      tell("connection", { open: false }, true);
    }
  }
  setTimeout(() => void look(), LOOK);
}

function receive(message: Answer | News): void {
  if ("on" in message) {
    tell(message.on, message.set, message.whole === true);
    return;
  }
  const asked = waiting.get(message.re);
  waiting.delete(message.re);
  if (message.error !== undefined) asked?.reject(new Error(message.error));
  else asked?.resolve(message.ok as never);
}

function tell(topic: string, set: Fields, whole: boolean): void {
  news.set(topic, whole ? set : { ...news.get(topic), ...set });
  listeners.get(topic)?.forEach((listener) => listener());
}

/** Ask the server to do something; the answer, or an Error whose message is for people. */
export async function ask<A extends Asked>(action: A, fields: Actions[A]["asks"]): Promise<Actions[A]["gets"]> {
  const n = ++count;
  return new Promise((resolve, reject) => {
    if (socket === null || silent) return reject(new Error(LOST)); // and is not done later, when nobody expects it
    waiting.set(n, { resolve, reject });
    socket.send(JSON.stringify({ n, do: action, ...fields }));
  });
}

/** Ask it about one game, study or match. */
export async function askOf<A extends AskedOfOne>(
  id: string,
  action: A,
  fields: Omit<Actions[A]["asks"], "id">,
): Promise<Actions[A]["gets"]> {
  return ask(action, { id, ...fields } as Actions[A]["asks"]);
}

/** The newest of a topic, as long as the component is there. */
export function useTopic<T extends keyof AllTopics>(topic: T): AllTopics[T] | null {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((number) => number + 1);
    if (!listeners.has(topic)) listeners.set(topic, new Set());
    listeners.get(topic)!.add(listener);
    listener();
    return () => void listeners.get(topic)!.delete(listener);
  }, [topic]);
  return (news.get(topic) as AllTopics[T] | undefined) ?? null;
}

/** Forget what is known of a topic. */
export function drop(topic: keyof Topics): void {
  news.delete(topic);
}

/** Do something now, after every new connection, and when `key` changes, as long as the component is there. */
export function useConnected(act: () => void, key = ""): void {
  const newest = useRef(act);
  useLayoutEffect(() => {
    newest.current = act;
  });
  useEffect(() => {
    const again = () => newest.current();
    onConnect.add(again);
    if (socket !== null) again();
    return () => void onConnect.delete(again);
  }, [key]);
}
