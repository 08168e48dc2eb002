// The list of debates, the figures, and links into a hidden story. Texts are only ever set as text.
"use strict";

(() => {
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // --- the list of debates ---------------------------------------------------------------------------------------

  function options(select, values) {
    for (const value of values) {
      const option = element("option", value);
      option.value = value;
      select.append(option);
    }
  }

  function verdictOf(debate, judge) {
    return debate.judges.find(([name]) => name === judge) || null;
  }

  function outcomeOf(debate, judge) {
    if (debate.failed) return "failed";
    const verdict = verdictOf(debate, judge);
    return verdict ? verdict[2] : "not judged";
  }

  function row(debate, judge) {
    const line = element("tr");
    const verdict = verdictOf(debate, judge);
    const outcome = outcomeOf(debate, judge);
    const question = element("td");
    const link = element("a", debate.question || "(no text)");
    link.href = `debates/${Number(debate.n)}.html`;
    link.title = `${debate.id} · ${debate.protocol}`;
    question.append(link);
    line.append(element("td", String(debate.n), "right"), question, element("td", debate.protocol.replaceAll("_", " ")));
    const shown = element("td");
    shown.append(element("span", outcome, `outcome ${outcome.replace(" ", "-")}`));
    if (debate.talk) {
      line.append(
        element("td", debate.players.join(", ")),
        element("td", debate.gold || "–"),
        element("td", verdict && verdict[1] !== null ? verdict[1] : "–"),
        shown,
      );
      return line;
    }
    for (const player of debate.players) {
      const cell = element("td");
      cell.append(element("bdi", player === null ? "–" : player));
      line.append(cell);
    }
    line.append(
      element("td", debate.gold || "–"),
      element("td", verdict && verdict[1] !== null ? `${(100 * verdict[1]).toFixed(1)}%` : "–", "right"),
      shown,
      element("td", debate.quotes ? `${debate.verified} of ${debate.quotes}` : "–", "right"),
    );
    return line;
  }

  function list(debates) {
    const words = byId("filter-words");
    const player = byId("filter-player");
    const outcome = byId("filter-outcome");
    const judge = byId("filter-judge");
    const sorted = (values) => [...new Set(values)].sort();
    const judges = sorted(debates.flatMap((debate) => debate.judges.map(([name]) => name)));
    options(judge, judges);
    options(player, sorted(debates.flatMap((debate) => debate.players.filter((name) => name !== null))));
    options(outcome, sorted(debates.flatMap((debate) => (judges.length ? judges : [""]).map((name) => outcomeOf(debate, name)))));
    byId("label-judge").hidden = judges.length < 2;
    const haystacks = debates.map((debate) =>
      [debate.question, debate.id, debate.protocol, ...debate.players].join("\n").toLowerCase(),
    );
    let page = 0;

    function show() {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = debates.filter(
        (debate, index) =>
          wanted.every((word) => haystacks[index].includes(word)) &&
          (!player.value || debate.players.includes(player.value)) &&
          (!outcome.value || outcomeOf(debate, judge.value) === outcome.value),
      );
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      page = Math.min(page, pages - 1);
      byId("rows").replaceChildren(
        ...found.slice(page * PAGE, (page + 1) * PAGE).map((debate) => row(debate, judge.value)),
      );
      byId("count").textContent = `${found.length} of ${debates.length} debates`;
      byId("place").textContent = `Page ${page + 1} of ${pages}`;
      byId("previous").disabled = page === 0;
      byId("next").disabled = page === pages - 1;
      byId("pager").hidden = pages === 1;
    }

    function turn(by) {
      page += by;
      show();
      byId("list").focus({ preventScroll: true });
      byId("debates").scrollIntoView();
    }

    for (const control of [words, player, outcome, judge]) {
      control.addEventListener("input", () => {
        page = 0;
        show();
      });
    }
    byId("previous").addEventListener("click", () => turn(-1));
    byId("next").addEventListener("click", () => turn(1));
    byId("filters").hidden = false;
    byId("list").hidden = false;
    // A browser that comes back to the page has filled the filters in by now.
    window.addEventListener("pageshow", show);
    show();
  }

  // --- figures ---------------------------------------------------------------------------------------------------

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function coloured(value) {
    if (typeof value === "string") {
      const named = /^var\((--[a-z-]+)\)$/.exec(value);
      return named ? colour(named[1]) : value;
    }
    if (Array.isArray(value)) return value.map(coloured);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item)]));
    }
    return value;
  }

  function layoutOf(layout) {
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), fixedrange: true };
    const own = coloured(layout);
    for (const name of Object.keys(own).filter((key) => /^[xy]axis\d*$/.test(key)).concat(["xaxis", "yaxis"])) {
      own[name] = { ...axis, ...own[name] };
    }
    return {
      margin: { l: 40, r: 16, t: 32, b: 48 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--text"), family: getComputedStyle(document.body).fontFamily, size: 13 },
      hoverlabel: { bgcolor: colour("--raised"), font: { color: colour("--text") } },
      ...own,
    };
  }

  function draw(figures) {
    for (const place of document.querySelectorAll("[data-figure]")) {
      const figure = figures[Number(place.dataset.figure)];
      window.Plotly.react(place, coloured(figure.traces), layoutOf(figure.layout), {
        displayModeBar: false,
        responsive: true,
      });
    }
  }

  // --- the story -------------------------------------------------------------------------------------------------

  function reveal() {
    const anchor = window.location.hash.slice(1);
    const target = anchor && byId(anchor);
    if (!target) return;
    const hidden = target.closest("details");
    if (!hidden) return;
    hidden.open = true;
    for (const passage of document.querySelectorAll("mark.passage")) {
      passage.classList.toggle("current", passage.dataset.quotes.split(" ").includes(anchor));
    }
    const first = document.querySelector("mark.current");
    if (first) {
      first.tabIndex = -1;
      first.focus({ preventScroll: true });
      first.scrollIntoView({ block: "center" });
    }
  }

  if (window.dissoiDebates && byId("filters")) list(window.dissoiDebates);
  if (window.dissoiFigures && window.Plotly) {
    draw(window.dissoiFigures);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(window.dissoiFigures));
  }
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a.quote");
    // The same link again changes no hash.
    if (link && link.hash === window.location.hash) reveal();
  });
  reveal();
})();
