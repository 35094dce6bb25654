// The websocket to the server: questions with answers, and news by topic. It connects again when it is cut off.
import { useEffect, useState } from "preact/hooks";

type Fields = Record<string, unknown>;
type Waiting = { resolve: (value: any) => void; reject: (error: Error) => void };

const news = new Map<string, Fields>();
const listeners = new Map<string, Set<() => void>>();
const waiting = new Map<number, Waiting>();
const onConnect = new Set<() => void>();
let socket: WebSocket | null = null;
let ready: Promise<void> = connect();
let count = 0;
let delay = 300;

function connect(): Promise<void> {
  return new Promise((resolve) => {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const opened = new WebSocket(`${scheme}://${location.host}/talk`);
    opened.onopen = () => {
      socket = opened;
      delay = 300;
      tell("connection", { open: true }, true);
      resolve();
      onConnect.forEach((again) => again());
    };
    opened.onmessage = (event) => receive(JSON.parse(event.data as string));
    opened.onclose = () => {
      socket = null;
      tell("connection", { open: false }, true);
      waiting.forEach(({ reject }) => reject(new Error("the connection was lost")));
      waiting.clear();
      setTimeout(() => void connect().then(resolve), delay);
      ready = new Promise((again) => onConnect.add(function once() { onConnect.delete(once); again(); }));
      delay = Math.min(5000, delay * 1.6);
    };
  });
}

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
  if (socket === null) await ready;
  const n = ++count;
  return new Promise<T>((resolve, reject) => {
    if (socket === null) return reject(new Error("the connection was lost"));
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
