// The websocket to the server: questions with answers, and news by topic. It connects again when it is cut off, and says so when the
// server is silent.
import { useEffect, useState } from "preact/hooks";

type Fields = Record<string, unknown>;
type Waiting = { resolve: (value: any) => void; reject: (error: Error) => void };

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
    receive(JSON.parse(event.data as string));
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

connect();
void look();

function receive(message: any): void {
  if (message.on !== undefined) {
    tell(message.on, message.set, message.whole === true);
    return;
  }
  const asked = waiting.get(message.re);
  waiting.delete(message.re);
  if (message.error !== undefined) asked?.reject(new Error(message.error));
  else asked?.resolve(message.ok);
}

function tell(topic: string, set: Fields, whole: boolean): void {
  news.set(topic, whole ? set : { ...news.get(topic), ...set });
  listeners.get(topic)?.forEach((listener) => listener());
}

/** Ask the server to do something; the answer, or an Error whose message is for people. */
export async function ask<T = any>(action: string, fields: Fields = {}): Promise<T> {
  const n = ++count;
  return new Promise<T>((resolve, reject) => {
    if (socket === null || silent) return reject(new Error(LOST)); // and is not done later, when nobody expects it
    waiting.set(n, { resolve, reject });
    socket.send(JSON.stringify({ n, do: action, ...fields }));
  });
}

/** The newest of a topic, as long as the component is there. */
export function useTopic<T>(topic: string): T | null {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((number) => number + 1);
    if (!listeners.has(topic)) listeners.set(topic, new Set());
    listeners.get(topic)!.add(listener);
    listener();
    return () => void listeners.get(topic)!.delete(listener);
  }, [topic]);
  return (news.get(topic) as T | undefined) ?? null;
}

/** Forget what is known of a topic. */
export function drop(topic: string): void {
  news.delete(topic);
}

/** Do something now and after every new connection, as long as the component is there. */
export function useConnected(act: () => void, inputs: unknown[]): void {
  useEffect(() => {
    onConnect.add(act);
    if (socket !== null) act();
    return () => void onConnect.delete(act);
  }, inputs);
}
