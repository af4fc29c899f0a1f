"use strict";
// What is looked at: which series, and which window of time. Times are whole microseconds since 1970, which a
// number has exactly. The address of the page keeps it.

const SPANS_S = [1, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400, 604800, 2592000];
const SPAN_US_MIN = 1000;
const SPAN_US_MAX = 100 * 365 * 86400e6;
const SERIES_MAX = 64;

class View {
  constructor() {
    this.names = [];
    this.live = true;
    this.span = 30e6;
    this.from = 0;
    this.to = 0;
  }

  // A window, within what can be shown.
  window(from, to) {
    const span = Math.min(Math.max(Math.round(to - from), SPAN_US_MIN), SPAN_US_MAX);
    const middle = (from + to) / 2;
    this.live = false;
    this.from = Math.max(Math.round(middle - span / 2), 0);
    this.to = this.from + span;
    this.span = span;
  }

  // The end of the live window is the clock of the server.
  end(now) {
    this.to = now;
    this.from = now - this.span;
  }

  // As it stands behind the # of the address.
  text() {
    const parts = new URLSearchParams();
    for (const name of this.names) parts.append("s", name);
    if (this.live) parts.set("live", String(this.span / 1e6));
    else {
      parts.set("from", seconds(this.from));
      parts.set("to", seconds(this.to));
    }
    return "#" + parts.toString();
  }

  // Reads such a text; what is wrong in it is left as it was. Links come from anybody.
  read(text) {
    const parts = new URLSearchParams(text.replace(/^#/, ""));
    this.names = [...new Set(parts.getAll("s"))].slice(0, SERIES_MAX);
    const number = (name) => Number.parseFloat(parts.get(name)) * 1e6;
    const from = number("from"), to = number("to"), span = number("live");
    if (from >= 0 && to > from && to < 9e15) this.window(from, to);
    else {
      this.live = true;
      if (span > 0) this.span = Math.min(Math.max(Math.round(span), SPAN_US_MIN), SPAN_US_MAX);
    }
  }
}

// Microseconds as seconds with all their digits.
function seconds(us) {
  const whole = Math.floor(us / 1e6);
  return whole + "." + String(us - whole * 1e6).padStart(6, "0");
}

// A length of time for people.
function length(us) {
  const units = [["d", 86400e6], ["h", 3600e6], ["min", 60e6], ["s", 1e6], ["ms", 1e3], ["µs", 1]];
  const [name, size] = units.find((unit) => us >= unit[1]) || units[5];
  return Number((us / size).toPrecision(3)) + " " + name;
}

const two = (number) => String(number).padStart(2, "0");

// A time of day, to the digits that `step` microseconds ask for.
function clock(us, step) {
  const at = new Date(us / 1e3);
  let text = two(at.getUTCHours()) + ":" + two(at.getUTCMinutes());
  if (step < 60e6) text += ":" + two(at.getUTCSeconds());
  if (step < 1e6) {
    const digits = step < 1e3 ? 6 : 3;
    text += "." + String(us - Math.floor(us / 1e6) * 1e6).padStart(6, "0").slice(0, digits);
  }
  return text;
}

function day(us) {
  const at = new Date(us / 1e3);
  return at.getUTCFullYear() + "-" + two(at.getUTCMonth() + 1) + "-" + two(at.getUTCDate());
}

// A value in few letters.
function short(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(3);
  return String(Number(value.toPrecision(5)));
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  while (count >= 1024 && at < 3) {
    count /= 1024;
    at += 1;
  }
  return Number(count.toPrecision(3)) + " " + units[at];
}

function rate(count) {
  if (count >= 1e6) return (count / 1e6).toFixed(2) + " M";
  if (count >= 1e3) return (count / 1e3).toFixed(1) + " k";
  return String(Math.round(count));
}
