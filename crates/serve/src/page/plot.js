// The picture: a panel for each unit, one time axis below all.
//
// A series is drawn from columns, each with the least, greatest, first and last value of its samples: a stroke
// from least to greatest, and one from the last value to the first of the next column.

const COLORS = ["#1f77b4", "#e06c1f", "#2a9d4a", "#c8374a", "#8a5cc9", "#997a00", "#d1569b", "#0f9aa8", "#6b7a1e", "#7a5546", "#5668d8", "#5f6b76"];
const COLORS_DARK = ["#5cb3f0", "#ff9f5a", "#5fd086", "#ff7b86", "#bd9bff", "#e0c14a", "#ff8fca", "#4ed3de", "#b9cc5a", "#c9a08c", "#94a3ff", "#a8b6c2"];
const MARGIN = { left: 58, right: 14, top: 24, bottom: 26, between: 22 };
const PANEL_MIN = 110;
// A line breaks where no sample came for so many times the usual distance.
const GAP = 4;

// Columns of one series, by their numbers: as many as were asked for, and room for those that come.
class Columns {
  constructor(first, count) {
    this.first = first;
    this.count = count;
    this.room = Math.max(16, count * 2);
    this.parts = [0, 1, 2, 3].map(() => new Float64Array(this.room).fill(NaN));
    this.distances = new Uint32Array(this.room);
    this.newest = null;
  }

  // A value as the server tells it, joined with what is there.
  put(number, value) {
    if (value === null || number < this.first) return;
    if (number - this.first >= this.room) this.shift(number - this.count + 1);
    const at = number - this.first;
    const [min, max, first, last] = this.parts;
    const [v0, v1, v2, v3] = typeof value === "number" ? [value, value, value, value] : value.map((one) => one ?? NaN);
    if (Number.isNaN(min[at])) {
      min[at] = v0;
      max[at] = v1;
      first[at] = v2;
    } else {
      min[at] = Math.min(min[at], v0);
      max[at] = Math.max(max[at], v1);
    }
    last[at] = v3;
    if (!this.newest || number >= this.newest.number) this.newest = { number, value: v3 };
  }

  // Lets go of what is before column `first`.
  shift(first) {
    const by = Math.min(first - this.first, this.room);
    for (const part of this.parts) {
      part.copyWithin(0, by);
      part.fill(NaN, this.room - by);
    }
    this.first = first;
  }

  // The place of the column nearest to `number` that has samples, at most `reach` away.
  near(number, reach) {
    for (let away = 0; away <= reach; away += 1) {
      for (const at of [number - away - this.first, number + away - this.first]) {
        if (at >= 0 && at < this.room && !Number.isNaN(this.parts[0][at])) return at;
      }
    }
    return -1;
  }

  // How many columns lie between two samples, usually: the middle one of all distances.
  distance(from, to) {
    const min = this.parts[0], { distances } = this;
    distances.fill(0);
    let before = -1, count = 0;
    for (let at = from; at < to; at += 1) {
      if (Number.isNaN(min[at])) continue;
      if (before >= 0) {
        distances[at - before] += 1;
        count += 1;
      }
      before = at;
    }
    let distance = 1;
    for (let seen = distances[1]; seen * 2 < count; seen += distances[distance]) distance += 1;
    return distance;
  }
}

// Steps of an axis: 1, 2 or 5 times a power of ten.
function niceStep(span, most) {
  const raw = span / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].find((times) => times * power >= raw * 0.999) * power;
}

function timeStep(span, most) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const raw = span / Math.max(most, 1);
  if (raw < 1e6) return Math.max(1, niceStep(span, most));
  const step = steps.find((seconds) => seconds * 1e6 >= raw);
  return step ? step * 1e6 : Math.ceil(raw / 86400e6) * 86400e6;
}

class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.scales = new Map();
    this.panels = [];
    this.cursor = null;
    this.marked = null;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.inks();
  }

  // The colors of the page, which the style has.
  inks() {
    const style = getComputedStyle(document.documentElement);
    this.ink = Object.fromEntries(["soft", "line", "grid", "pin", "accent"].map((name) => [name, style.getPropertyValue("--" + name)]));
  }

  color(at) {
    const colors = this.dark.matches ? COLORS_DARK : COLORS;
    return colors[at % colors.length];
  }

  // Columns that fit.
  width() {
    return Math.max(64, Math.min(4096, Math.floor(this.canvas.clientWidth - MARGIN.left - MARGIN.right)));
  }

  timeAt(x, view) {
    const share = (x - MARGIN.left) / (this.canvas.clientWidth - MARGIN.left - MARGIN.right);
    return view.from + Math.min(Math.max(share, 0), 1) * (view.to - view.from);
  }

  xOf(time, view) {
    const width = this.canvas.clientWidth - MARGIN.left - MARGIN.right;
    return MARGIN.left + ((time - view.from) / (view.to - view.from)) * width;
  }

  // Draws `series`: [{name, unit, color, columns}] of `step` microseconds each, and `pins`.
  draw(view, series, step, pins) {
    const units = [...new Set(series.map((one) => one.unit))];
    const need = MARGIN.top + MARGIN.bottom + Math.max(units.length, 1) * (PANEL_MIN + MARGIN.between);
    this.canvas.style.minHeight = Math.min(need, 8000) + "px";
    const ratio = devicePixelRatio || 1, wide = this.canvas.clientWidth, high = this.canvas.clientHeight;
    if (this.canvas.width !== Math.round(wide * ratio) || this.canvas.height !== Math.round(high * ratio)) {
      this.canvas.width = Math.round(wide * ratio);
      this.canvas.height = Math.round(high * ratio);
    }
    const to = this.canvas.getContext("2d");
    to.setTransform(ratio, 0, 0, ratio, 0, 0);
    to.clearRect(0, 0, wide, high);
    to.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    const right = wide - MARGIN.right, count = Math.max(units.length, 1);
    const each = (high - MARGIN.top - MARGIN.bottom - MARGIN.between * (count - 1)) / count;
    this.panels = [];
    const shown = units.length > 0 ? units : [""];
    shown.forEach((unit, at) => {
      const top = MARGIN.top + at * (each + MARGIN.between);
      const panel = { unit, top, bottom: top + each, left: MARGIN.left, right };
      panel.series = series.filter((one) => one.unit === unit);
      this.panels.push(panel);
    });
    this.times(to, view);
    this.bands(to, view, pins);
    for (const panel of this.panels) this.panel(to, view, panel, step);
    this.over(to, view);
  }

  times(to, view) {
    const bottom = this.panels[this.panels.length - 1].bottom;
    const { left, right } = this.panels[0];
    const step = timeStep(view.to - view.from, (right - left) / 90);
    to.textAlign = "center";
    to.textBaseline = "top";
    to.lineWidth = 1;
    for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
      const x = Math.round(this.xOf(time, view)) + 0.5;
      to.strokeStyle = this.ink.grid;
      to.beginPath();
      for (const panel of this.panels) {
        to.moveTo(x, panel.top);
        to.lineTo(x, panel.bottom);
      }
      to.stroke();
      to.fillStyle = this.ink.soft;
      const midnight = step >= 86400e6 || time % 86400e6 === 0;
      if (x > left + 20 && x < right - 20) to.fillText(midnight ? day(time) : clock(time, step), x, bottom + 7);
    }
  }

  bands(to, view, pins) {
    to.textAlign = "left";
    to.textBaseline = "top";
    for (const pin of pins) {
      const panel = this.panels[0];
      const from = Math.max(this.xOf(pin.from_us, view), panel.left);
      const end = Math.min(this.xOf(pin.to_us, view), panel.right);
      if (end <= from) continue;
      to.fillStyle = this.ink.pin;
      for (const one of this.panels) to.fillRect(from, one.top, Math.max(end - from, 1), one.bottom - one.top);
      to.fillStyle = this.ink.soft;
      if (end - from > 40) to.fillText("pin " + pin.name.slice(0, 40), from + 4, panel.top + 3, end - from - 8);
    }
  }

  // The scale of a panel: it grows at once, and shrinks when less than half of it is used.
  scale(panel, view, step) {
    let low = Infinity, high = -Infinity;
    for (const { columns } of panel.series) {
      const from = Math.max(0, Math.floor(view.from / step) - columns.first);
      const end = Math.min(columns.room, Math.ceil(view.to / step) - columns.first);
      for (let at = from; at < end; at += 1) {
        if (columns.parts[0][at] < low) low = columns.parts[0][at];
        if (columns.parts[1][at] > high) high = columns.parts[1][at];
      }
    }
    if (low > high) return this.scales.get(panel.unit) || { low: 0, high: 1 };
    const before = this.scales.get(panel.unit);
    if (before && before.low <= low && before.high >= high && high - low > (before.high - before.low) / 2) return before;
    const room = high > low ? (high - low) * 0.08 : Math.abs(high) * 0.1 || 1;
    const found = { low: low - room, high: high + room };
    this.scales.set(panel.unit, found);
    return found;
  }

  panel(to, view, panel, step) {
    const { low, high } = this.scale(panel, view, step);
    const { left, right, top, bottom } = panel;
    const yOf = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
    const tick = niceStep(high - low, (bottom - top) / 36);
    to.textAlign = "right";
    to.textBaseline = "middle";
    to.strokeStyle = this.ink.grid;
    to.fillStyle = this.ink.soft;
    to.beginPath();
    for (let value = Math.ceil(low / tick) * tick; value <= high; value += tick) {
      const y = Math.round(yOf(value)) + 0.5;
      to.moveTo(left, y);
      to.lineTo(right, y);
      to.fillText(short(Math.abs(value) < tick / 1e6 ? 0 : value), left - 7, y);
      if (value + tick === value) break;
    }
    to.stroke();
    to.textAlign = "left";
    to.textBaseline = "bottom";
    to.fillText(panel.unit.slice(0, 40), left, top - 5);
    to.save();
    to.beginPath();
    to.rect(left, top - 1, right - left, bottom - top + 2);
    to.clip();
    to.lineWidth = 1.25;
    to.lineJoin = "bevel";
    for (const one of panel.series) this.line(to, view, one, step, yOf);
    to.restore();
    to.strokeStyle = this.ink.line;
    to.lineWidth = 1;
    to.strokeRect(left + 0.5, top + 0.5, right - left - 1, bottom - top - 1);
  }

  line(to, view, { columns, color }, step, yOf) {
    const [min, max, first, last] = columns.parts;
    const from = Math.max(0, Math.floor(view.from / step) - columns.first - 1);
    const end = Math.min(columns.room, Math.ceil(view.to / step) - columns.first + 1);
    const gap = columns.distance(from, end) * GAP;
    const x0 = this.xOf((columns.first + 0.5) * step, view), dx = this.xOf(view.from + step, view) - MARGIN.left;
    let before = -Infinity, alone = true;
    to.strokeStyle = to.fillStyle = color;
    to.beginPath();
    const dot = () => {
      if (alone && before >= 0 && min[before] === max[before]) to.rect(x0 + before * dx - 1, yOf(min[before]) - 1, 2, 2);
    };
    for (let at = from; at < end; at += 1) {
      if (Number.isNaN(min[at])) continue;
      const x = x0 + at * dx;
      // NaN is no place on a canvas: what moves there is as if it had not been called.
      const start = Number.isNaN(first[at]) ? min[at] : first[at];
      if (at - before > gap) {
        dot();
        alone = true;
        to.moveTo(x, yOf(start));
      } else {
        alone = false;
        to.lineTo(x, yOf(start));
      }
      if (min[at] !== max[at]) {
        to.lineTo(x, yOf(min[at]));
        to.lineTo(x, yOf(max[at]));
        to.lineTo(x, yOf(last[at]));
      }
      before = at;
    }
    dot();
    to.stroke();
  }

  // Cursor, and the part that is being marked.
  over(to, view) {
    const top = this.panels[0].top, bottom = this.panels[this.panels.length - 1].bottom;
    if (this.marked) {
      const [from, end] = this.marked.map((time) => this.xOf(time, view)).sort((a, b) => a - b);
      to.globalAlpha = 0.18;
      to.fillStyle = this.ink.accent;
      to.fillRect(from, top, end - from, bottom - top);
      to.globalAlpha = 1;
    }
    if (this.cursor === null || this.cursor < view.from || this.cursor > view.to) return;
    const x = Math.round(this.xOf(this.cursor, view)) + 0.5;
    to.strokeStyle = this.ink.soft;
    to.setLineDash([3, 3]);
    to.beginPath();
    to.moveTo(x, top);
    to.lineTo(x, bottom);
    to.stroke();
    to.setLineDash([]);
  }
}
