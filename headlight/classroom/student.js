// A phone in a class: it asks for the class's state, shows it, and repeats an answer until the server has it.
// Whatever the server sends is set as text, never as HTML.
"use strict";
const SEEN = 2000, HIDDEN = 10000, PATIENCE = 8000, DAY = 43200; // ms; s that a cookie lasts
const $ = (id) => document.getElementById(id);
const texts = JSON.parse(document.body.dataset.texts);
const say = (name, values) => texts[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
const code = document.body.dataset.code;
const here = `${$("door").action}/${code}`;
const name = `headlight-class-${code}`;

let held = { v: 0 }; // the state as it was last sent
let pending; // a choice that the server has not acknowledged
let late = false; // the last one came after the end of its round
let place; // number of the quiz's item that is shown, from 0; past the last one all are answered
let polling, sending; // AbortControllers of requests on their way
let pollTimer, sendTimer;

// 64 random bits of this browser in this class.
function participant() {
  let id = /(?:^|; )participant=([0-9a-f]{16})/.exec(document.cookie)?.[1];
  try {
    for (const key of Object.keys(localStorage)) {
      const [kept, since] = key.startsWith("headlight-class-") ? localStorage[key].split(" ") : [];
      if (kept && !(Date.now() - since < DAY * 1000)) localStorage.removeItem(key);
      else if (key === name) id ??= kept;
    }
  } catch { /* no storage: the cookie has it */ }
  if (!/^[0-9a-f]{16}$/.test(id)) {
    id = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  try { localStorage[name] = `${id} ${Date.now()}`; } catch { /* the same */ }
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `participant=${id}; Path=${location.pathname}; Max-Age=${DAY}; SameSite=Strict${secure}`;
  return id;
}

const id = code && participant();

async function ask(path, controller, body) {
  const timer = setTimeout(() => controller.abort(), PATIENCE);
  try {
    const headers = { participant: id, "Accept-Language": document.documentElement.lang };
    const options = { headers, signal: controller.signal, cache: "no-store", credentials: "omit" };
    if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    const response = await fetch(`${here}/${path}`, options);
    const answer = response.status === 204 ? {} : await response.json(); // what a proxy says is none
    if (response.status >= 500) throw new Error(answer.error);
    $("net").textContent = "";
    return [response.status, answer];
  } catch (error) {
    if (!controller.replaced) $("net").textContent = texts.reconnecting;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

// Wait no longer for a request.
function giveUp(controller) {
  controller.replaced = true;
  controller.abort();
}

async function poll() {
  clearTimeout(pollTimer);
  if (polling) giveUp(polling); // asleep meanwhile, perhaps: its answer may never come
  const mine = (polling = new AbortController());
  let next;
  try {
    const [status, state] = await ask(`state?v=${held.v}`, mine);
    if (status === 200) take(state);
    else if (status === 429) {
      $("error").textContent = state.error;
      next = SEEN / 2; // a newcomer is in once it has asked twice
    }
    else if (status !== 204) return leave(state.error);
    if (state.more) next = 0;
  } catch { /* asked again below */ }
  if (polling !== mine) return;
  polling = undefined;
  pollTimer = setTimeout(poll, next ?? (document.hidden ? HIDDEN : SEEN) * (0.75 + Math.random() / 2));
}

function take(state) {
  const same = state.round === held.round && state.round !== undefined;
  if (!same || state.phase !== "asking") {
    late = same && (late || (pending !== undefined && String(pending) !== String(state.yours)));
    pending = undefined;
    if (sending) giveUp(sending);
  }
  held = same ? { ...held, ...state } : state;
  if (!same && held.items) place = [...answers(), null].indexOf(null);
  show(!same);
}

function leave(error) {
  clearTimeout(pollTimer);
  clearTimeout(sendTimer);
  polling = pending = undefined;
  document.body.dataset.code = "";
  $("room").hidden = true;
  $("door").hidden = false;
  $("error").textContent = error;
}

function choose(choice) {
  if (held.phase !== "asking") return;
  pending = choice;
  show();
  send();
}

async function send() {
  clearTimeout(sendTimer);
  if (sending || pending === undefined) return;
  const choice = pending, round = held.round;
  sending = new AbortController();
  let again = SEEN;
  try {
    const [status, { error }] = await ask("answer", sending, { round, choice });
    if (status === 429) again = SEEN / 2; // one answer a second
    else if (round === held.round) {
      if (status === 200) held.yours = choice;
      if (pending === choice || status !== 200) pending = undefined;
      late = status === 409;
      if (status === 404 || status === 410 || status === 403) leave(error);
      else if (late) poll();
    }
  } catch { /* repeated below */ }
  sending = undefined;
  if (!document.body.dataset.code) return; // left
  show();
  if (pending !== undefined) sendTimer = setTimeout(send, again);
}

// A choice in words, as the end of a sentence.
function choiceText(choice) {
  if (held.kind === "number") return `${choice}.`;
  const words = [choice].flat().map((index) => held.options[index]).join(", ") || texts.none;
  return /[.!?…]”?$/.test(words) ? words : `${words}.`;
}

// The answers to a quiz, null for an open item.
const answers = () => pending ?? held.yours ?? held.items.map(() => null);

function turn(to) {
  place = to;
  show(true);
}

function answerItem(index) {
  choose(answers().map((each, at) => (at === place ? index : each)));
  turn(place + 1);
}

function status() {
  const { phase, kind, yours, items } = held;
  if (items) return held.texts[pending !== undefined ? "sending" : place < items.length ? "tap" : "done"];
  if (phase === "lobby") return texts.lobby;
  if (phase === "revealed") return held.feedback;
  if (phase === "closed") {
    const mine = late ? texts.late : yours === null ? "" : say("yours", { choice: choiceText(yours) });
    return say("closed", { mine }).replace("  ", " ");
  }
  if (pending !== undefined) return say("sending", { choice: choiceText(pending) });
  if (yours === null) return texts[kind === "number" ? "" : kind] ?? "";
  return say("sent", { choice: choiceText(yours) });
}

function element(tag, text, ...classes) {
  const node = document.createElement(tag);
  node.textContent = text;
  node.classList.add(...classes);
  return node;
}

function show(isNew) {
  const { phase, kind, items } = held, item = items ? items[place] : held, options = item?.options ?? [];
  const asking = phase === "asking", revealed = phase === "revealed";
  const mine = items ? answers()[place] : pending ?? held.yours ?? [];
  $("door").hidden = true;
  $("room").hidden = false;
  $("error").textContent = "";
  $("me").textContent = held.me ? say("me", held) : "";
  $("text").textContent = item?.text ?? "";
  $("about").textContent = held.about ?? "";
  $("back").hidden = !(items && place);
  if (items) {
    $("back").textContent = held.texts.back;
    $("about").textContent = item ? held.texts.place.replace("{number}", place + 1).replace("{of}", items.length) : "";
  }
  if (isNew) {
    $("value").value = "";
    $("options").replaceChildren(...options.map((label, index) => {
      const button = element("button", label);
      const answer = { one: choose, quiz: answerItem, several: () => choose(toggled(index)) }[kind];
      button.addEventListener("click", () => answer(index));
      return button;
    }));
  }
  [...$("options").children].forEach((button, index) => {
    button.setAttribute("aria-pressed", [mine].flat().includes(index));
    button.disabled = !asking;
  });
  $("options").hidden = revealed || kind === "number";
  $("number").hidden = !(asking && kind === "number");
  $("result").replaceChildren(...(revealed ? bars() : []));
  $("try").hidden = !(revealed && held.try);
  $("try").href = `${here}/try`;
  if ($("status").textContent !== status()) $("status").textContent = status();
}

function toggled(index) {
  const chosen = pending ?? held.yours ?? [];
  return chosen.includes(index) ? chosen.filter((each) => each !== index) : [...chosen, index].sort();
}

function bars() {
  const { kind, options = [], counts, right, near, n } = held;
  if (kind === "number") {
    const close = near === null ? "" : say("near", { near, n });
    return [element("li", `${close} ${held.yours === null ? "" : say("number", { choice: held.yours })}`.trim())];
  }
  const mine = [held.yours ?? []].flat();
  return options.map((label, index) => {
    const row = document.createElement("li"), bar = document.createElement("i");
    bar.style.width = `${n ? (100 * counts[index]) / n : 0}%`;
    row.append(bar, element("b", say("count", { count: counts[index], n })), element("span", label));
    const marks = [right.includes(index) && texts.right, mine.includes(index) && texts.mine].filter(Boolean);
    if (marks.length) row.append(element("small", marks.join(" · ")));
    row.classList.toggle("right", right.includes(index));
    return row;
  });
}

$("number").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("value").value.trim().replace(",", ".").replace("−", "-");
  if (text && Number.isFinite(Number(text))) choose(Number(text));
  else $("value").select();
});

$("back").addEventListener("click", () => turn(place - 1));

if (code) {
  const wake = () => document.body.dataset.code && !document.hidden && (send(), poll());
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("online", wake);
  window.addEventListener("pageshow", ({ persisted }) => persisted && wake()); // by the button Back
  poll();
}
