// Questions to the service. When it does not answer, the page says so and asks again until it does.

import { byId, make } from "./dom.js";

const AGAIN_MS = 1500;
const PATIENCE_MS = 15000;
let away = false;
const returned = [];

export const onReturn = (act) => returned.push(act);

// Thrown with a sentence of the service's, for the reader.
export class Mistake extends Error {}

// A line of questions: asking the next one makes the answer to the last one unwanted.
export class Line {
  #controller = null;

  async ask(path, body) {
    this.#controller?.abort();
    const controller = (this.#controller = new AbortController());
    return request(path, body, controller.signal);
  }
}

// The answer; null where a newer question has taken its place or the service is away.
export async function request(path, body, signal) {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  let response;
  try {
    response = await fetch(`/api/${path}`, {
      method: body ? "POST" : "GET",
      headers: body ? { "content-type": "application/json" } : {},
      body: body && JSON.stringify(body),
      signal: signal && AbortSignal.any ? AbortSignal.any([signal, patience]) : signal ?? patience,
    });
    const answer = await response.json();
    if (response.ok) return answer;
    throw new Mistake(answer.error ?? "The service did not understand.");
  } catch (error) {
    if (error instanceof Mistake) throw error;
    if (!signal?.aborted) leave();
    return null;
  }
}

function leave() {
  if (away) return;
  away = true;
  byId("away").replaceChildren(
    make("strong", {}, "The service does not answer. "),
    "Is gapgram serve still running? Your text is kept, and this page goes on by itself when it is back.",
  );
  byId("away").hidden = false;
  setTimeout(lookAgain, AGAIN_MS);
}

async function lookAgain() {
  try {
    const response = await fetch("/api/health", { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!response.ok) throw new Error();
  } catch {
    setTimeout(lookAgain, AGAIN_MS);
    return;
  }
  away = false;
  byId("away").hidden = true;
  for (const act of returned) act();
}
