// The list of debates: filters, order and keys, kept in the address, so that a link or "back" finds the same list.
// Pages of debates use it too, to go on in the list that their reader came from. Texts are only ever set as text.
"use strict";

(() => {
  const PAGE = 50;
  const KEYS = ["words", "protocol", "player", "judge", "outcome", "quotes", "sort"];
  const PREFIX = "#debates";
  const root = document.documentElement.dataset.root || "";
  const byId = (id) => document.getElementById(id);
  const order = new Intl.Collator(undefined, { numeric: true }).compare;

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // --- what is looked for ----------------------------------------------------------------------------------------

  /** Read a state from the text behind a question mark; unknown keys are left out. */
  function parse(text) {
    const given = new URLSearchParams(text);
    const state = Object.fromEntries(KEYS.map((key) => [key, given.get(key) || ""]));
    return { ...state, page: Math.max(1, Number(given.get("page")) || 1), at: Number(given.get("at")) || 0 };
  }

  /** Write a state as such a text; empty where nothing is asked for. */
  function write(state, more = {}) {
    const params = new URLSearchParams();
    for (const key of KEYS) if (state[key]) params.set(key, state[key]);
    for (const [key, value] of Object.entries(more)) if (value) params.set(key, String(value));
    return params.toString();
  }

  function verdictOf(debate, judge) {
    return debate.judges.find(([name]) => name === judge) || null;
  }

  function outcomeOf(debate, judge) {
    if (debate.failed) return "failed";
    const verdict = verdictOf(debate, judge);
    return verdict ? verdict[2] : "not judged";
  }

  /** The probability that a judge gave the right answer; of seat A's where no answer is known to be right. */
  function shareOf(debate, judge) {
    const verdict = verdictOf(debate, judge);
    if (debate.talk || !verdict || verdict[1] === null) return null;
    return debate.gold === "B" ? 1 - verdict[1] : verdict[1];
  }

  const DISAGREE = "orders disagree";
  const QUOTES = {
    "all verified": (debate) => debate.quotes > 0 && debate.verified === debate.quotes,
    "some unverified": (debate) => debate.verified < debate.quotes,
    none: (debate) => debate.quotes === 0,
  };
  const BY = {
    number: (debate) => debate.n,
    question: (debate) => debate.question,
    protocol: (debate) => debate.protocol,
    first: (debate) => debate.players[0] ?? null,
    second: (debate) => debate.players[1] ?? null,
    gold: (debate) => debate.gold,
    share: shareOf,
    outcome: outcomeOf,
    quotes: (debate) => (debate.quotes ? debate.verified / debate.quotes : null),
  };

  const judgesOf = (debates) => [...new Set(debates.flatMap((debate) => debate.judges.map(([name]) => name)))].sort();

  /** The debates that a state asks for, in its order. */
  function find(debates, state) {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    const said = window.dissoiWords || [];
    const judge = state.judge || judgesOf(debates)[0] || "";
    const quotes = Object.hasOwn(QUOTES, state.quotes) ? QUOTES[state.quotes] : null;
    const found = debates.filter((debate, index) => {
      if (state.protocol && debate.protocol !== state.protocol) return false;
      if (state.player && !debate.players.includes(state.player)) return false;
      if (quotes && !quotes(debate)) return false;
      if (state.outcome === DISAGREE) {
        const verdict = verdictOf(debate, judge);
        if (!verdict || !verdict[3]) return false;
      } else if (state.outcome && outcomeOf(debate, judge) !== state.outcome) return false;
      if (!words.length) return true;
      const text = [debate.question, debate.id, debate.protocol, ...debate.players].join("\n").toLowerCase();
      return words.every((word) => text.includes(word) || (said[index] || "").includes(word));
    });
    const name = state.sort.replace(/^-/, "");
    if (!Object.hasOwn(BY, name)) return found;
    const sign = state.sort.startsWith("-") ? -1 : 1;
    const keys = new Map(found.map((debate) => [debate, BY[name](debate, judge)]));
    return found.sort((one, other) => {
      const [mine, theirs] = [keys.get(one), keys.get(other)];
      // What is not known stands last in either order.
      if (mine === null || theirs === null) return (mine === null) - (theirs === null);
      return sign * (typeof mine === "number" ? mine - theirs : order(mine, theirs));
    });
  }

  /** Load a script file of the report once. */
  const loading = new Map();
  function load(name) {
    if (!loading.has(name)) {
      loading.set(
        name,
        new Promise((done) => {
          const script = element("script");
          script.src = `${root}assets/${name}`;
          script.addEventListener("load", done);
          script.addEventListener("error", done); // an older report, or half of one: what is here is used
          document.head.append(script);
        }),
      );
    }
    return loading.get(name);
  }

  // --- a row -----------------------------------------------------------------------------------------------------

  function cell(text, className, label) {
    const made = element("td", undefined, className);
    made.dataset.label = label;
    made.append(element("bdi", text));
    return made;
  }

  function row(debate, judge, query) {
    const line = element("tr");
    const verdict = verdictOf(debate, judge);
    const outcome = outcomeOf(debate, judge);
    const question = element("td", undefined, "question");
    const link = element("a", debate.question || "(no text)");
    link.href = `debates/${Number(debate.n)}.html${query && `?${query}`}`;
    link.title = `${debate.id} · ${debate.protocol}`;
    link.dataset.n = debate.n;
    question.append(link);
    line.append(element("td", String(debate.n), "right number"), question);
    line.append(cell(debate.protocol.replaceAll("_", " "), "protocol", "protocol"));
    const shown = element("td", undefined, "ended");
    shown.append(element("span", outcome, `outcome ${outcome.replace(" ", "-")}`));
    if (verdict && verdict[3]) {
      const mark = element("span", "⇄", "quiet");
      mark.title = "The two orders of the answers name different ones";
      shown.append(" ", mark, element("span", DISAGREE, "sr"));
    }
    if (debate.talk) {
      line.append(
        cell(debate.players.join(", "), "players", "speakers"),
        cell(debate.gold || "–", "", "right"),
        cell(verdict && verdict[1] !== null ? verdict[1] : "–", "", "result"),
        shown,
      );
      return line;
    }
    const share = shareOf(debate, judge);
    const percent = share === null ? "–" : `${debate.gold ? "" : "A "}${(100 * share).toFixed(1)}%`;
    for (const [seat, player] of [["A", debate.players[0]], ["B", debate.players[1]]]) {
      line.append(cell(player === null ? "–" : player, "players", seat));
    }
    line.append(
      cell(debate.gold || "–", "", "right"),
      cell(percent, "right", "P(right)"),
      shown,
      cell(debate.quotes ? `${debate.verified} of ${debate.quotes}` : "–", "right", "quotes verified"),
    );
    return line;
  }

  // --- the list --------------------------------------------------------------------------------------------------

  function options(select, values) {
    for (const value of values) {
      const option = element("option", value.replaceAll("_", " "));
      option.value = value;
      select.append(option);
    }
  }

  class List {
    constructor(debates) {
      this.debates = debates;
      this.judges = judgesOf(debates);
      this.controls = Object.fromEntries(KEYS.filter((key) => key !== "sort").map((key) => [key, byId(`filter-${key}`)]));
      this.heads = [...document.querySelectorAll("#list button[data-sort]")];
      this.fill();
      for (const [key, control] of Object.entries(this.controls)) {
        control.addEventListener("input", () => this.change({ [key]: control.value }));
      }
      for (const head of this.heads) head.addEventListener("click", () => this.sort(head.dataset.sort));
      byId("previous").addEventListener("click", () => this.turn(-1));
      byId("next").addEventListener("click", () => this.turn(1));
      byId("clear").addEventListener("click", () => {
        this.change({ ...parse(""), page: 1 });
        this.controls.words.focus();
      });
      byId("filters").hidden = false;
      byId("list").hidden = false;
      document.addEventListener("keydown", (event) => this.key(event));
      window.addEventListener("hashchange", () => {
        if (window.location.hash.startsWith(PREFIX)) this.enter();
      });
      // A browser that comes back to the page has filled the filters in by now, perhaps with older values.
      window.addEventListener("pageshow", () => {
        if (Object.entries(this.controls).some(([key, control]) => control.value !== this.state[key])) this.enter();
      });
      this.enter();
    }

    fill() {
      const all = (of) => [...new Set(this.debates.flatMap(of))].sort(order);
      const { judge, player, protocol, outcome, quotes } = this.controls;
      const protocols = all((debate) => [debate.protocol]);
      options(judge, this.judges);
      options(player, all((debate) => debate.players.filter((name) => name !== null)));
      options(protocol, protocols);
      options(outcome, all((debate) => (this.judges.length ? this.judges : [""]).map((name) => outcomeOf(debate, name))));
      if (this.debates.some((debate) => debate.judges.some((verdict) => verdict[3]))) options(outcome, [DISAGREE]);
      options(quotes, Object.keys(QUOTES));
      judge.parentElement.hidden = this.judges.length < 2;
      protocol.parentElement.hidden = protocols.length < 2;
      quotes.parentElement.hidden = !this.debates.some((debate) => debate.quotes);
      byId("list").classList.toggle("one-protocol", protocols.length < 2);
    }

    /** Show what the address asks for. */
    enter() {
      const hash = window.location.hash;
      const asked = hash.startsWith(`${PREFIX}?`);
      this.state = parse(asked ? hash.slice(PREFIX.length + 1) : "");
      for (const [key, control] of Object.entries(this.controls)) {
        control.value = this.state[key];
        // A judge has no "any"; a value that this report does not have is none.
        if (control.value !== this.state[key] || !control.value) this.state[key] = control.value = key === "judge" ? this.judges[0] || "" : "";
      }
      const at = this.state.at;
      if (at) {
        const place = find(this.debates, this.state).findIndex((debate) => debate.n === at);
        if (place >= 0) this.state.page = Math.floor(place / PAGE) + 1;
      }
      this.show();
      if (asked) byId("debates").scrollIntoView();
      const row = at && this.links().find((link) => Number(link.dataset.n) === at);
      if (row) {
        row.focus({ preventScroll: true });
        row.scrollIntoView({ block: "center" });
      }
    }

    change(by) {
      this.state = { ...this.state, page: 1, at: 0, ...by };
      for (const [key, control] of Object.entries(this.controls)) {
        if (!(key in by) || control.value === by[key]) continue;
        control.value = by[key];
        if (key === "judge" && !by[key]) this.state.judge = control.value = this.judges[0] || "";
      }
      this.show();
      this.keep();
    }

    /** What the address says: the first judge goes without saying. */
    query(more = {}) {
      return write({ ...this.state, judge: this.state.judge === this.judges[0] ? "" : this.state.judge }, more);
    }

    keep() {
      const query = this.query({ page: this.state.page > 1 ? this.state.page : 0 });
      window.history.replaceState(null, "", query ? `${PREFIX}?${query}` : PREFIX);
    }

    sort(name) {
      const now = this.state.sort;
      this.change({ sort: now === name ? `-${name}` : now === `-${name}` ? "" : name });
    }

    show() {
      const found = find(this.debates, this.state);
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      this.state.page = Math.min(this.state.page, pages);
      const { page } = this.state;
      const query = this.query();
      byId("rows").replaceChildren(
        ...found.slice((page - 1) * PAGE, page * PAGE).map((debate) => row(debate, this.state.judge, query)),
      );
      const unread = this.state.words && !window.dissoiWords;
      byId("count").textContent = `${found.length} of ${this.debates.length} debates`;
      byId("place").textContent = `Page ${page} of ${pages}`;
      byId("previous").disabled = page === 1;
      byId("next").disabled = page === pages;
      byId("pager").hidden = pages === 1;
      byId("clear").hidden = !query;
      for (const head of this.heads) {
        const sorted = this.state.sort.replace(/^-/, "") === head.dataset.sort;
        const direction = this.state.sort.startsWith("-") ? "descending" : "ascending";
        if (sorted) head.parentElement.setAttribute("aria-sort", direction);
        else head.parentElement.removeAttribute("aria-sort");
      }
      // What was said is a large file, read when somebody looks for words.
      if (unread && !this.reading) {
        this.reading = load("words.js").then(() => window.dissoiWords && this.show());
      }
    }

    turn(by) {
      this.state.page += by;
      this.show();
      this.keep();
      byId("list").focus({ preventScroll: true });
      byId("debates").scrollIntoView();
    }

    // --- keys ----------------------------------------------------------------------------------------------------

    links() {
      return [...document.querySelectorAll("#rows a")];
    }

    /** Go a row on or back, over the ends of the page too. */
    step(by) {
      const links = this.links();
      const now = links.indexOf(document.activeElement);
      const next = now < 0 ? 0 : now + by;
      if (next >= 0 && next < links.length) {
        links[next].focus();
      } else if (next >= 0 ? !byId("next").disabled : !byId("previous").disabled) {
        this.turn(by);
        const fresh = this.links();
        fresh[by > 0 ? 0 : fresh.length - 1].focus();
      }
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const { words } = this.controls;
      const inside = event.target.closest && event.target.closest("input, select, textarea, button");
      const onRow = Boolean(event.target.closest && event.target.closest("#rows a"));
      let done = true;
      if (event.target === words && (event.key === "Enter" || event.key === "ArrowDown")) this.step(1);
      else if (event.target === words && event.key === "Escape" && words.value) this.change({ words: "" });
      else if (inside) done = false;
      else if (event.key === "/") {
        words.focus();
        words.select();
      } else if (event.key === "j" || (onRow && event.key === "ArrowDown")) this.step(1);
      else if (event.key === "k" || (onRow && event.key === "ArrowUp")) this.step(-1);
      else done = false;
      if (done) event.preventDefault();
    }
  }

  // --- a debate's page: on and back in the list that its reader came from ------------------------------------------

  async function read(nav) {
    const here = Number(nav.dataset.number);
    const state = parse(window.location.search);
    const query = write(state);
    const all = nav.querySelector("[data-all]");
    all.href = `../report.html${PREFIX}?${write(state, { at: here })}`;
    document.addEventListener("keydown", (event) => {
      const inside = event.target.closest && event.target.closest("input, select, textarea");
      if (event.ctrlKey || event.metaKey || event.altKey || inside) return;
      const link = { j: "[rel=next]", k: "[rel=prev]", u: "[data-all]" }[event.key];
      const target = link && nav.querySelector(`${link}:not([hidden])`);
      const story = event.key === "s" && byId("story");
      if (target) target.click();
      if (story) {
        story.open = !story.open;
        if (story.open) story.scrollIntoView();
      }
    });
    if (!query) return;
    await load("debates.js");
    if (state.words) await load("words.js");
    const found = find(window.dissoiDebates || [], state);
    const place = found.findIndex((debate) => debate.n === here);
    if (place < 0) return;
    for (const [rel, by] of [["prev", -1], ["next", 1]]) {
      const link = nav.querySelector(`[rel=${rel}]`);
      const other = found[place + by];
      link.hidden = !other;
      if (other) link.href = `${Number(other.n)}.html?${query}`;
    }
    nav.querySelector("[data-place]").textContent = `${place + 1} of ${found.length} found`;
  }

  if (window.dissoiDebates && byId("filters")) new List(window.dissoiDebates);
  const nav = document.querySelector("nav[data-number]");
  if (nav) read(nav);
})();
