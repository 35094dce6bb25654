// The sound of a stone, off until somebody turns it on.
let context: AudioContext | null = null;

export function soundIsOn(): boolean {
  return localStorage.getItem("sound") === "on";
}

export function setSound(on: boolean): void {
  localStorage.setItem("sound", on ? "on" : "off");
  if (on) stoneSound();
}

export function stoneSound(): void {
  if (!soundIsOn()) return;
  context ??= new AudioContext();
  const now = context.currentTime;
  const [tone, loudness] = [context.createOscillator(), context.createGain()];
  tone.type = "triangle";
  tone.frequency.setValueAtTime(900, now);
  tone.frequency.exponentialRampToValueAtTime(220, now + 0.05);
  loudness.gain.setValueAtTime(0.25, now);
  loudness.gain.exponentialRampToValueAtTime(0.001, now + 0.09);
  tone.connect(loudness).connect(context.destination);
  tone.start(now);
  tone.stop(now + 0.1);
}
