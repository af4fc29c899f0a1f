// The page: joins view, server and picture, and takes keys, mouse and fingers.

const LIVE_STEP_US_MIN = 1000;

class Page {
  constructor() {
    this.at = (id) => document.getElementById(id);
    this.view = new View();
    this.server = new Server();
    this.plot = new Plot(this.at("plot"));
    this.series = [];
    this.pins = [];
    this.step = 20000;
    this.before = [];
    this.viewer = null;
    this.skipped = 0;
    this.turn = 0;
    this.drawTimes = [];
  }

  // --- what is shown -------------------------------------------------------------------------------------

  say(text) {
    const place = this.at("say");
    place.textContent = text;
    place.hidden = !text;
  }

  draw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = null;
      const begun = performance.now();
      this.plot.draw(this.view, this.series, this.step, this.pins);
      this.drawTimes.push(performance.now() - begun);
      if (this.drawTimes.length > 200) this.drawTimes.shift();
      this.tell();
    });
  }

  // What stands beside the picture.
  tell() {
    const { view, plot } = this, canvas = this.at("plot");
    const sorted = [...this.drawTimes].sort((a, b) => a - b);
    canvas.dataset.drawMs = (sorted[sorted.length >> 1] || 0).toFixed(2);
    canvas.dataset.series = this.series.filter((one) => one.columns.newest).length;
    this.at("empty").hidden = view.names.length > 0;
    const cursor = plot.cursor !== null && plot.cursor >= view.from && plot.cursor <= view.to ? plot.cursor : null;
    const fine = view.to - view.from < 10e6 ? 1 : 1e6;
    const range = cursor === null
      ? day(view.from) + " " + clock(view.from, fine) + " – " + clock(view.to, fine) + " UTC, " + length(view.to - view.from)
      : day(cursor) + " " + clock(Math.round(cursor), 1) + " UTC";
    this.at("range").textContent = view.to > 0 ? range : "";
    canvas.setAttribute("aria-label", view.names.length + " series, " + range);
    this.at("live").setAttribute("aria-pressed", String(view.live));
    this.at("span").options[0].textContent = length(view.span);
    this.at("span").value = SPANS_S.includes(view.span / 1e6) ? String(view.span / 1e6) : "";
    for (const one of this.series) {
      let value = one.columns.newest ? one.columns.newest.value : null;
      if (cursor !== null) {
        const place = one.columns.near(Math.floor(cursor / this.step), 8);
        value = place < 0 ? null : one.columns.parts[3][place];
      }
      const text = short(value);
      if (one.value && one.value.firstChild.data !== text) one.value.firstChild.data = text;
    }
  }

  list() {
    const list = this.at("chosen");
    const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
    list.replaceChildren(...this.series.map((one) => {
      const item = document.createElement("li");
      const swatch = document.createElement("canvas");
      swatch.width = swatch.height = 4;
      const ink = swatch.getContext("2d");
      ink.fillStyle = one.color;
      ink.fillRect(0, 0, 4, 4);
      const name = document.createElement("span"), unit = document.createElement("small");
      name.className = "name";
      name.append(...this.named(one.name));
      one.value = document.createElement("span");
      one.value.className = "value";
      unit.textContent = one.unit ? " " + one.unit : "";
      one.value.append(document.createTextNode("–"), unit);
      const remove = document.createElement("button");
      remove.type = "button";
      remove.textContent = "×";
      remove.setAttribute("aria-label", "Take away " + one.name);
      remove.addEventListener("click", () => this.remove(one.name));
      item.append(swatch, name, one.value, remove);
      return item;
    }));
    const buttons = list.querySelectorAll("button");
    if (focused >= 0 && buttons.length > 0) buttons[Math.min(focused, buttons.length - 1)].focus();
  }

  // A name in two parts, the metric and its labels; as text, whatever is in it.
  named(name) {
    const at = name.indexOf("{");
    const parts = at > 0 ? [name.slice(0, at), name.slice(at)] : [name];
    return parts.map((text, place) => {
      const part = document.createElement("span");
      part.className = place === 0 ? "metric" : "labels";
      part.textContent = text;
      return part;
    });
  }

  status(told) {
    const facts = [["samples/s", rate(told.samples_per_s)]];
    facts.push(["recorder", told.recorder === null ? "none" : told.recorder > 0 ? "process " + told.recorder : "runs", told.recorder === null]);
    if (told.ring_bytes > 0) facts.push(["ring", bytes(told.ring_used_bytes) + " of " + bytes(told.ring_bytes), told.ring_used_bytes > told.ring_bytes / 2]);
    if (told.delay_ms !== null) facts.push(["newest", length(Math.max(told.delay_ms, 0) * 1e3) + " old"]);
    facts.push(["lost", String(told.lost), told.lost > 0]);
    if (told.disk_pressure_percent !== null) facts.push(["disk", told.disk_pressure_percent.toFixed(0) + " %", told.disk_pressure_percent > 50]);
    const missed = this.skipped + told.recycled_blocks;
    if (missed > 0) facts.push(["not shown", missed + (told.recycled_blocks > 0 ? " columns and blocks" : " columns"), true]);
    if (told.damaged_places > 0) facts.push(["damaged", told.damaged_places + (told.damaged_places === 1 ? " place" : " places"), true]);
    this.at("status").replaceChildren(...facts.map(([name, text, bad]) => {
      const fact = document.createElement("div"), what = document.createElement("dt"), value = document.createElement("dd");
      what.textContent = name;
      value.textContent = text;
      if (bad) fact.className = "bad";
      fact.append(what, value);
      return fact;
    }));
    if (told.fault) this.say("What is recorded cannot be followed: " + told.fault);
  }

  // --- what is asked -------------------------------------------------------------------------------------

  // Shows the view anew: follows what is recorded, reads the window, and goes on.
  async show() {
    const turn = ++this.turn, { view, server } = this;
    if (this.abort) this.abort.abort();
    this.abort = new AbortController();
    const signal = this.abort.signal;
    history.replaceState(null, "", view.text());
    this.draw();
    try {
      const columns = this.plot.width();
      const step = Math.max(Math.ceil(view.span / columns), view.live ? LIVE_STEP_US_MIN : 1);
      const names = view.names.map((name) => ["series", name]);
      // One after the other, and to its end: the server is told which viewer this one takes the place of.
      await this.opening;
      if (turn !== this.turn) return;
      const opening = this.open([["step", seconds(step)], ...(view.live ? names : [])]);
      this.opening = opening.catch(() => {});
      const begun = await opening;
      if (turn !== this.turn) return;
      this.at("token").hidden = true;
      this.status(begun.status);
      if (view.live) view.end(Math.ceil(begun.now_us / step) * step);
      await this.read(step, names, signal);
      while (turn === this.turn) this.took(await server.ask("next", [["viewer", this.viewer]], signal));
    } catch (error) {
      if (turn === this.turn) this.failed(error);
    }
  }

  // Follows what is recorded, in the place of who did so before.
  async open(follow) {
    if (this.viewer) follow.push(["viewer", this.viewer]);
    const begun = await this.server.ask("follow", follow);
    this.viewer = begun.viewer;
    return begun;
  }

  // The window; whole columns, so that those of the live picture join.
  async read(step, names, signal) {
    const { view, server } = this;
    if (names.length === 0) {
      this.series = [];
      this.pins = [];
      this.list();
      this.say("");
      return this.draw();
    }
    const from = Math.floor(view.from / step), to = Math.ceil(view.to / step);
    const window = [["from", seconds(from * step)], ["to", seconds(to * step)], ["columns", String(to - from)], ...names];
    const told = await server.ask("window", window, signal);
    this.step = told.step_ns / 1000;
    this.pins = told.pins;
    this.plot.scales.clear();
    this.series = told.series.map(({ name, unit, values }, at) => {
      const columns = new Columns(told.first, told.columns);
      values.forEach((value, place) => columns.put(told.first + place, value));
      return { name, unit, columns, color: this.plot.color(at) };
    });
    this.list();
    this.say(told.notes.join("\n"));
    this.draw();
  }

  took(told) {
    this.skipped += told.skipped;
    this.status(told.status);
    if (!this.view.live) return;
    // A clock that is far ahead would push all others out of the picture.
    const most = (told.now_us + this.view.span) / this.step;
    told.series.forEach((columns, at) => {
      const one = this.series[at];
      if (one) for (const [number, value] of columns) if (number <= most) one.columns.put(number, value);
    });
    this.view.end(Math.ceil(told.now_us / this.step) * this.step);
    this.draw();
  }

  failed(error) {
    if (error.name === "AbortError") return;
    this.say(error.message);
    if (error.status === 401 || error.status === 403) {
      this.at("token").hidden = false;
      this.at("secret").focus();
      return;
    }
    if (error.status === 404) this.viewer = null;
    // What is asked for is wrong, and asking again does not help: the names stay, so that one can be taken away.
    if (error.status === 400) {
      const nothing = (name, at) => ({ name, unit: "", columns: new Columns(0, 16), color: this.plot.color(at) });
      this.series = this.view.names.map(nothing);
      this.list();
      return;
    }
    clearTimeout(this.again);
    this.again = setTimeout(() => this.show(), 1000);
  }

  // --- what is chosen ------------------------------------------------------------------------------------

  add(name) {
    const { names } = this.view;
    if (names.includes(name)) return;
    if (names.length >= SERIES_MAX) return this.say("A picture has at most " + SERIES_MAX + " series: take one away first.");
    names.push(name);
    this.soon();
  }

  remove(name) {
    this.view.names = this.view.names.filter((one) => one !== name);
    this.series = this.series.filter((one) => one.name !== name);
    this.list();
    this.show();
  }

  // A window; shown at once with the columns that are there, and read a moment later.
  go(from, to) {
    this.keep();
    this.view.window(from, to);
    this.soon();
  }

  soon() {
    this.draw();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.show(), 80);
  }

  keep() {
    const text = this.view.text(), now = performance.now();
    // A wheel that turns is one step.
    if (now - (this.kept || 0) > 400 && this.before[this.before.length - 1] !== text) this.before.push(text);
    if (this.before.length > 50) this.before.shift();
    this.kept = now;
  }

  back() {
    const text = this.before.pop();
    if (!text) return;
    const { names } = this.view;
    this.view.read(text);
    this.view.names = names;
    this.show();
  }

  live(span) {
    this.keep();
    if (span) this.view.span = span;
    else if (!this.view.live && this.view.span > 3600e6) this.view.span = 3600e6;
    this.view.live = true;
    this.plot.cursor = null;
    this.show();
  }

  zoom(times, around) {
    const { view } = this;
    const span = view.to - view.from, middle = around ?? (view.from + view.to) / 2;
    // Live stays live where it is looked at as a whole.
    if (view.live && around === undefined) return this.live(Math.min(Math.max(Math.round(span * times), 100e3), SPAN_US_MAX));
    const share = (middle - view.from) / span;
    this.go(middle - share * span * times, middle + (1 - share) * span * times);
  }

  pan(share) {
    const by = (this.view.to - this.view.from) * share;
    this.go(this.view.from + by, this.view.to + by);
  }

  moveCursor(columns) {
    const { view, plot } = this;
    const from = plot.cursor ?? view.to;
    plot.cursor = Math.min(Math.max(from + columns * this.step, view.from), view.to);
    this.draw();
  }

  key(event) {
    const typing = /^(INPUT|SELECT)$/.test(document.activeElement.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey || this.at("help").open) return;
    if (typing) return;
    const onButton = document.activeElement.tagName === "BUTTON";
    const keys = {
      "/": () => this.at("search").focus(),
      "?": () => this.at("help").showModal(),
      ArrowLeft: () => (event.shiftKey ? this.moveCursor(-10) : this.pan(-0.25)),
      ArrowRight: () => (event.shiftKey ? this.moveCursor(10) : this.pan(0.25)),
      ArrowUp: () => this.zoom(0.5),
      ArrowDown: () => this.zoom(2),
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      l: () => this.live(),
      L: () => this.live(),
      " ": () => (this.view.live ? this.go(this.view.from, this.view.to) : this.live()),
      Backspace: () => this.back(),
      Delete: () => {
        const item = document.activeElement.closest("#chosen li");
        if (item) this.remove(item.querySelector(".name").textContent);
      },
      Escape: () => {
        this.plot.cursor = null;
        this.draw();
      },
    };
    if (!keys[event.key] || (onButton && event.key === " ")) return;
    event.preventDefault();
    keys[event.key]();
  }

  // --- mouse and fingers ---------------------------------------------------------------------------------

  pointers() {
    const canvas = this.at("plot"), { plot } = this, held = new Map();
    const x = (event) => event.clientX - canvas.getBoundingClientRect().left;
    let begun = null;
    const begin = () => {
      const { from, to } = this.view;
      begun = { from, to, held: new Map(held), live: this.view.live };
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, x(event));
      begin();
      begun.marks = event.pointerType === "mouse" && !event.shiftKey;
    });
    canvas.addEventListener("pointermove", (event) => {
      plot.cursor = event.pointerType === "mouse" ? plot.timeAt(x(event), this.view) : null;
      if (!held.has(event.pointerId)) return this.draw();
      held.set(event.pointerId, x(event));
      if (begun.marks) {
        const start = begun.held.get(event.pointerId);
        plot.marked = Math.abs(x(event) - start) > 4 ? [plot.timeAt(start, this.view), plot.timeAt(x(event), this.view)] : null;
        return this.draw();
      }
      const [a, b] = [...begun.held.keys()];
      const wide = canvas.clientWidth - MARGIN.left - MARGIN.right, span = begun.to - begun.from;
      const time = (place) => begun.from + ((place - MARGIN.left) / wide) * span;
      const a0 = begun.held.get(a), a1 = held.get(a);
      if (b === undefined) {
        if (Math.abs(a1 - a0) > 4) this.go(begun.from - ((a1 - a0) / wide) * span, begun.to - ((a1 - a0) / wide) * span);
        return;
      }
      const b0 = begun.held.get(b), b1 = held.get(b);
      const times = Math.min(Math.max(Math.abs(b0 - a0) / Math.max(Math.abs(b1 - a1), 8), 0.02), 50);
      const middle = time((a0 + b0) / 2), share = ((a1 + b1) / 2 - MARGIN.left) / wide;
      this.go(middle - share * span * times, middle + (1 - share) * span * times);
    });
    const end = (event) => {
      if (!held.delete(event.pointerId)) return;
      const marked = plot.marked;
      plot.marked = null;
      if (begun.marks && marked && event.type === "pointerup") this.go(Math.min(...marked), Math.max(...marked));
      begin();
      this.draw();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => {
      plot.cursor = null;
      this.draw();
    });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, plot.timeAt(x(event), this.view)));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const side = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (Math.abs(side) > Math.abs(event.shiftKey ? 0 : event.deltaY)) return this.pan(Math.sign(side) * 0.1);
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, plot.timeAt(x(event), this.view));
    }, { passive: false });
  }

  // --- the search ----------------------------------------------------------------------------------------

  async search() {
    const text = this.at("search").value;
    if (this.searching) this.searching.abort();
    this.searching = new AbortController();
    try {
      const told = await this.server.ask("search", [["q", text], ["limit", "100"]], this.searching.signal);
      this.found(told.found, told.more);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.found([], false, error.message);
      if (error.status === 401) this.failed(error);
    }
  }

  found(entries, more, said) {
    const list = this.at("found"), input = this.at("search");
    const items = entries.map(({ name, unit, kind }, at) => {
      const item = document.createElement("li"), left = document.createElement("span"), right = document.createElement("span");
      item.id = "found-" + at;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(at === 0));
      left.className = "name";
      left.append(...this.named(name));
      right.className = "unit";
      right.textContent = this.view.names.includes(name) ? "shown" : unit || kind;
      item.append(left, right);
      item.dataset.name = name;
      item.addEventListener("mousedown", (event) => {
        event.preventDefault();
        this.take(item);
      });
      return item;
    });
    const text = said || (entries.length === 0 ? "No series has this in its name." : more ? "There are more: add a word." : "");
    if (text) {
      const item = document.createElement("li");
      item.className = "none";
      item.textContent = text;
      items.push(item);
    }
    list.replaceChildren(...items);
    list.hidden = document.activeElement !== input;
    input.setAttribute("aria-expanded", String(!list.hidden));
    input.setAttribute("aria-activedescendant", entries.length > 0 ? "found-0" : "");
  }

  take(item) {
    item.querySelector(".unit").textContent = "shown";
    this.add(item.dataset.name);
  }

  searchKeys() {
    const input = this.at("search"), list = this.at("found");
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
    };
    input.addEventListener("input", () => {
      clearTimeout(this.typed);
      this.typed = setTimeout(() => this.search(), 120);
    });
    input.addEventListener("focus", () => this.search());
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      const items = [...list.querySelectorAll("[role=option]")];
      const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
      if (step && items.length > 0) {
        const next = Math.min(Math.max(at + step, 0), items.length - 1);
        items.forEach((item, place) => item.setAttribute("aria-selected", String(place === next)));
        items[next].scrollIntoView({ block: "nearest" });
        input.setAttribute("aria-activedescendant", items[next].id);
        event.preventDefault();
      } else if (event.key === "Enter" && items[at]) this.take(items[at]);
      else if (event.key === "Escape") {
        close();
        this.at("plot").focus();
        event.preventDefault();
      }
    });
  }

  begin() {
    const span = this.at("span");
    // The first one is any other length.
    span.append(new Option("", ""));
    span.options[0].hidden = true;
    for (const s of SPANS_S) span.append(new Option(length(s * 1e6), String(s)));
    span.addEventListener("change", () => {
      this.live(Number(span.value) * 1e6);
      this.at("plot").focus();
    });
    this.at("live").addEventListener("click", () => this.live());
    this.at("ask").addEventListener("click", () => this.at("help").showModal());
    this.at("close").addEventListener("click", () => this.at("help").close());
    this.at("token").addEventListener("submit", (event) => {
      event.preventDefault();
      this.server.use(this.at("secret").value.trim());
      this.at("secret").value = "";
      this.say("");
      this.show();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => {
      this.view.read(location.hash);
      this.show();
    });
    let width = this.plot.width();
    new ResizeObserver(() => {
      this.draw();
      if (Math.abs(this.plot.width() - width) > 2) {
        width = this.plot.width();
        this.soon();
      }
    }).observe(this.at("plot"));
    this.plot.dark.addEventListener("change", () => {
      this.plot.inks();
      this.series.forEach((one, at) => { one.color = this.plot.color(at); });
      this.list();
      this.draw();
    });
    this.pointers();
    this.searchKeys();
    this.view.read(location.hash);
    this.show();
  }
}

new Page().begin();
