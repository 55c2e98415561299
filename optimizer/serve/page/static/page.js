/* What the page does in the browser: line numbers, drawn days, progress, sliders, links to share, sorted tables. */
"use strict";

const usd = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const plain = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const MAX_SHARED_BYTES = 256_000;
const ASK_AGAIN_MS = 1000;

/* The text of the scenario: numbered lines, those to mend marked, and a way from a finding to its line. */
function numberLines() {
  const text = document.querySelector("textarea#scenario"), gutter = document.querySelector(".gutter");
  if (!text || !gutter) return;
  const wrong = new Set([...document.querySelectorAll("#findings [data-line]")].map((item) => Number(item.dataset.line)));
  const lines = text.value.split("\n").map((_, at) => {
    const line = document.createElement("span");
    line.textContent = at + 1;
    if (wrong.has(at + 1)) line.className = "wrong";
    return line;
  });
  gutter.replaceChildren(...lines.flatMap((line) => [line, "\n"]));
  gutter.scrollTop = text.scrollTop;
  text.setAttribute("aria-invalid", String(document.querySelector("#findings li") !== null));
}

function goToLine(number) {
  const text = document.querySelector("textarea#scenario"), lines = text.value.split("\n");
  const start = lines.slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[number - 1] || "").length);
  text.scrollTop = (number - 3) * parseFloat(getComputedStyle(text).lineHeight);
}

/* A link that holds the question: deflated in the fragment, which browsers never send. */
async function through(stream, bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts = [];
  for (let size = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size > MAX_SHARED_BYTES) throw new Error("too long");
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function linkTo(text) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  const letters = btoa(String.fromCharCode(...packed)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${location.origin}/#s=${letters}`;
}

async function textOfLink() {
  const letters = location.hash.slice(3).replaceAll("-", "+").replaceAll("_", "/");
  const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), packed));
}

async function share(button) {
  const source = document.querySelector("#scenario"), said = button.parentElement.querySelector(".said");
  const link = document.createElement("a");
  link.href = await linkTo(source.value ?? source.textContent);
  link.textContent = "the link";
  try {
    await navigator.clipboard.writeText(link.href);
    said.replaceChildren("Copied: ", link);
  } catch {
    said.replaceChildren("Copy it from here: ", link);
  }
}

async function openShared() {
  const text = document.querySelector("textarea#scenario");
  if (!text || !location.hash.startsWith("#s=")) return;
  try {
    text.value = await textOfLink();
  } catch {
    document.querySelector("#findings").textContent = "The link is damaged: no question can be read from it.";
    return;
  }
  numberLines();
  text.dispatchEvent(new Event("input", { bubbles: true }));
}

/* Work in progress: what is known so far, and the answer when it is there. A page follows its own job by a stream; a
   part of one, and a page for which there is none left, asks now and then: a browser opens six connections to a server,
   and those who wait must be able to cancel. */
function follow(job) {
  const phase = job.querySelector(".phase"), bar = job.querySelector("progress");
  const show = (known) => {
    if (known.state === "running" && phase.textContent !== known.phase) phase.textContent = known.phase || "beginning";
    if (known.steps) Object.assign(bar, { max: known.steps, value: known.step });
    for (const place of job.querySelectorAll("[data-known]")) {
      const value = known[place.dataset.known];
      if (value === null || value === undefined) continue;
      place.textContent = place.dataset.known === "gap" ? `${plain.format(value * 100)} %` : usd.format(Math.max(value, 0));
    }
  };
  const end = () => {
    if ("whole" in job.dataset) location.replace(job.dataset.done);
    else if (job.isConnected) htmx.ajax("GET", job.dataset.done, { target: job, swap: "outerHTML" });
  };
  if ("whole" in job.dataset) watch(job, show, end);
  else askAgain(job, show, end);
}

function watch(job, show, end) {
  const events = new EventSource(`/v1/jobs/${job.dataset.job}/events`);
  events.addEventListener("progress", (event) => show(JSON.parse(event.data)));
  events.addEventListener("end", () => {
    events.close();
    end();
  });
  events.addEventListener("error", () => events.readyState === EventSource.CLOSED && askAgain(job, show, end));
}

async function askAgain(job, show, end) {
  for (; job.isConnected; await new Promise((done) => setTimeout(done, ASK_AGAIN_MS))) {
    const answer = await fetch(`/v1/jobs/${job.dataset.job}`).catch(() => null);
    document.querySelector(".offline").hidden = answer !== null;
    if (answer === null) continue;
    const known = answer.ok ? await answer.json() : {};
    if (!["queued", "running"].includes(known.state)) return end();
    show(known);
  }
}

/* A slider on a limit, the frontier behind it. */
function moving(figure) {
  const slider = figure.querySelector("input[type=range]"), output = figure.querySelector("output");
  const value = figure.querySelector("input[name=value]"), button = figure.querySelector("button");
  const place = figure.querySelector(".chart"), curve = place ? JSON.parse(place.dataset.curve) : null;
  const unit = figure.dataset.unit ? ` ${figure.dataset.unit}` : "";
  const now = Number(figure.dataset.now);
  const chart = curve && drawCurve(place, curve, slider);
  const move = () => {
    const at = Number(slider.value);
    value.value = slider.value;
    button.textContent = `Plan with ${plain.format(at)}${unit}`;
    output.textContent = curve ? planAt(curve, at, now, unit) : `${plain.format(at)}${unit}; now ${plain.format(now)}${unit}`;
    slider.setAttribute("aria-valuetext", output.textContent);
    if (chart) chart.redraw(false);
  };
  slider.addEventListener("input", move);
  move();
}

function cornerAt(curve, at) {
  const after = curve.x.findIndex((x) => x >= at);
  if (after <= 0) return after === 0 ? 0 : curve.x.length - 1;
  return at - curve.x[after - 1] < curve.x[after] - at ? after - 1 : after;
}

function planAt(curve, at, now, unit) {
  const here = `At ${plain.format(at)}${unit}`, after = Math.max(curve.x.findIndex((x) => x >= at), 1), before = after - 1;
  if (curve.x[before] < at && at < curve.x[after] && curve.usd[before] !== curve.usd[after]) {
    const [from, to] = [before, after].map((side) => curve.usd[side] === null ? "no plan" : usd.format(curve.usd[side]));
    return `${here} the month turns from ${from} to ${to}: another plan takes over between ${plain.format(curve.x[before])} and ${plain.format(curve.x[after])}${unit}.`;
  }
  const corner = cornerAt(curve, at), cost = curve.usd[corner], today = curve.usd[cornerAt(curve, now)];
  if (cost === null) return `${here} no plan keeps every limit.`;
  const difference = today === null ? 0 : cost - today;
  const beside = Math.abs(difference) < 0.005 ? "" : `, ${usd.format(Math.abs(difference))} ${difference > 0 ? "more" : "less"} than now`;
  return `${here}: ${usd.format(cost)} a month${beside}. ${curve.plans[curve.plan[corner]]}`;
}

function drawCurve(place, curve, slider) {
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
  const ratio = devicePixelRatio, font = `${12 * ratio}px ${colour("--text")}`, top = Math.max(...curve.usd) * 1.18;
  const axis = { stroke: colour("--soft"), font: `12px ${colour("--text")}`, ticks: { show: false } };
  const upright = (u, x, stroke, dash) => {
    const left = u.valToPos(x, "x", true), { ctx, bbox } = u;
    ctx.strokeStyle = stroke;
    ctx.lineWidth = ratio;
    ctx.setLineDash(dash.map((length) => length * ratio));
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    ctx.setLineDash([]);
    return left;
  };
  const label = (u, from, to) => {
    const words = curve.plans[curve.plan[from]], { ctx } = u;
    const left = u.valToPos(curve.x[from], "x", true), right = u.valToPos(curve.x[to], "x", true);
    const y = u.valToPos(curve.usd[from], "y", true) - 8 * ratio;
    const letter = String.fromCharCode(65 + (curve.plan[from] % 26));
    const said = ctx.measureText(words).width < right - left ? words : letter;
    ctx.fillStyle = colour("--ink");
    ctx.textAlign = "center";
    if (ctx.measureText(said).width < Math.max(right - left, 14 * ratio)) ctx.fillText(said, (left + right) / 2, y);
  };
  const draw = (u) => {
    u.ctx.save();
    u.ctx.font = font;
    for (let from = 0, to = 0; from < curve.x.length; from = to + 1) {
      for (to = from; to + 1 < curve.x.length && curve.plan[to + 1] === curve.plan[from] && curve.usd[to + 1] === curve.usd[from]; ) to += 1;
      if (curve.plan[from] !== null) label(u, from, to);
    }
    /* the values at which another plan takes over, at the foot of the risers, as far as there is room */
    const foot = u.bbox.top + u.bbox.height - 6 * ratio;
    u.ctx.fillStyle = colour("--data");
    u.ctx.textAlign = "left";
    let free = u.bbox.left;
    for (const x of curve.changes) {
      const left = upright(u, x, colour("--pale"), [1, 3]);
      if (left < free) continue;
      u.ctx.fillText(` ${plain.format(x)}`, left, foot);
      free = left + u.ctx.measureText(` ${plain.format(x)} `).width;
    }
    const now = upright(u, curve.now, colour("--edge"), [2, 3]);
    u.ctx.fillStyle = colour("--soft");
    u.ctx.textAlign = now > u.bbox.left + u.bbox.width * 0.85 ? "right" : "left";
    u.ctx.fillText(" now ", now, u.bbox.top + 10 * ratio);
    const at = Number(slider.value), cost = curve.usd[cornerAt(curve, at)], left = upright(u, at, colour("--rubric"), []);
    if (cost !== null) {
      u.ctx.fillStyle = colour("--rubric");
      u.ctx.beginPath();
      u.ctx.arc(left, u.valToPos(cost, "y", true), 4.5 * ratio, 0, 2 * Math.PI);
      u.ctx.fill();
    }
    u.ctx.restore();
  };
  const options = {
    width: place.clientWidth, height: place.clientHeight, legend: { show: false }, cursor: { show: false },
    padding: [8, 16, 0, 0],
    scales: { x: { time: false, range: [curve.x[0], curve.x.at(-1)] }, y: { range: [0, top || 1] } },
    axes: [
      { ...axis, grid: { show: false }, border: { show: true, stroke: colour("--edge"), width: 1 }, values: (_, ticks) => ticks.map((tick) => plain.format(tick)) },
      { ...axis, size: 66, grid: { stroke: colour("--rule"), width: 1 }, values: (_, ticks) => ticks.map((tick) => `$${plain.format(tick)}`) },
    ],
    series: [{}, { stroke: colour("--data"), width: 2, points: { show: false }, spanGaps: false }],
    hooks: { draw: [draw] },
  };
  const chart = new uPlot(options, [curve.x, curve.usd], place);
  const align = () => {
    slider.style.marginLeft = `${chart.bbox.left / devicePixelRatio - 8}px`;
    slider.style.width = `${chart.bbox.width / devicePixelRatio + 16}px`;
  };
  align();
  new ResizeObserver(() => {
    if (place.clientWidth) chart.setSize({ width: place.clientWidth, height: place.clientHeight });
    align();
  }).observe(place);
  return chart;
}

/* A day drawn over its 24 sliders. */
function drawDay(day) {
  const hours = [...day.querySelectorAll("input")];
  const fill = (hour) => hour.style.setProperty("--height", `${(100 * hour.value) / hour.max}%`);
  hours.forEach(fill);
  day.addEventListener("input", (event) => fill(event.target));
  const set = (event) => {
    const box = day.getBoundingClientRect(), at = Math.floor(((event.clientX - box.left) / box.width) * hours.length);
    const hour = hours[Math.min(Math.max(at, 0), hours.length - 1)];
    const share = 1 - (event.clientY - box.top) / box.height;
    hour.value = ((Math.round(Math.min(Math.max(share, 0), 1) * 100) * hour.max) / 100).toPrecision(4);
    fill(hour);
  };
  day.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    day.setPointerCapture(event.pointerId);
    set(event);
  });
  day.addEventListener("pointermove", (event) => day.hasPointerCapture(event.pointerId) && set(event));
  day.addEventListener("pointerup", () => hours[0].dispatchEvent(new Event("change", { bubbles: true })));
}

/* A table in the order of one of its columns. */
function sortBy(button) {
  const heading = button.closest("th"), table = button.closest("table"), at = heading.cellIndex;
  const down = heading.ariaSort === "ascending";
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.ariaSort = down ? "descending" : "ascending";
  const of = (row) => row.cells[at].dataset.value ?? row.cells[at].textContent;
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const rows = [...table.tBodies[0].rows].sort((one, other) => {
    const [a, b] = [of(one), of(other)];
    if (a === "" || b === "") return a === "" ? 1 : -1;
    const order = heading.classList.contains("right") ? Number(a) - Number(b) : compare(a, b);
    return down ? -order : order;
  });
  table.tBodies[0].append(...rows);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.do === "share") share(button);
  if (button.dataset.line) goToLine(Number(button.dataset.line));
  if (button.closest("th")) sortBy(button);
});
document.addEventListener("input", (event) => {
  if (event.target.id === "scenario") numberLines();
  const filtered = event.target.dataset.filter;
  if (!filtered) return;
  for (const item of document.querySelectorAll(filtered)) item.hidden = !item.value.includes(event.target.value.toLowerCase());
});
document.addEventListener("scroll", (event) => event.target.id === "scenario" && numberLines(), true);
document.addEventListener("htmx:beforeSwap", (event) => {
  /* what is refused is said in words, too */
  if ([400, 404, 422, 429].includes(event.detail.xhr.status)) event.detail.shouldSwap = true;
});
for (const [name, silent] of [["htmx:sendError", true], ["htmx:afterOnLoad", false]]) {
  document.addEventListener(name, () => (document.querySelector(".offline").hidden = !silent));
}
document.addEventListener("htmx:afterSettle", (event) => {
  numberLines();
  const answer = event.target.closest("#why-not-answer");
  if (answer) answer.scrollIntoView({ block: "nearest" });
});
document.addEventListener("htmx:load", () => {
  /* what arrives in a piece that arrives is told twice */
  for (const [selector, begin] of [["[data-job]", follow], ["[data-slider]", moving], ["[data-day]", drawDay]]) {
    for (const item of document.querySelectorAll(`${selector}:not([data-begun])`)) {
      item.dataset.begun = "";
      begin(item);
    }
  }
});
addEventListener("hashchange", openShared);
addEventListener("DOMContentLoaded", () => {
  numberLines();
  openShared();
});
