// The figures, and links into a hidden story.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);

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

  function draw(place) {
    const figure = window.dissoiFigures[Number(place.dataset.figure)];
    window.Plotly.react(place, coloured(figure.traces), layoutOf(figure.layout), {
      displayModeBar: false,
      responsive: true,
    });
  }

  /** Draw each figure as a reader comes near it, all of them for a printer, and anew in other colours. */
  function drawNear() {
    const drawn = new Set();
    const near = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => once(entry.target)),
      { rootMargin: "2000px" },
    );
    function once(place) {
      near.unobserve(place);
      if (!drawn.has(place)) draw(place);
      drawn.add(place);
    }
    const places = [...document.querySelectorAll("[data-figure]")];
    places.forEach((place) => near.observe(place));
    window.addEventListener("beforeprint", () => places.forEach(once));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(draw));
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

  // The script that draws is a large file: it is read beside the page, which is there before.
  function fetchFigures() {
    const scripts = ["figures.js", "plotly.min.js"].map((name) => {
      const script = document.createElement("script");
      script.src = `assets/${name}`;
      script.async = false; // in this order
      return script;
    });
    scripts[1].addEventListener("load", drawNear);
    document.head.append(...scripts);
  }

  if (document.querySelector("[data-figure]")) fetchFigures();
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a.quote");
    // The same link again changes no hash.
    if (link && link.hash === window.location.hash) reveal();
  });
  reveal();
})();
