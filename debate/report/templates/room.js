// Drafts that outlive a reload, and a count of words. The room works without it, but for the drafts.
"use strict";

(() => {
  let kept = null;
  try {
    kept = window.localStorage;
  } catch {
    // A browser that keeps nothing: the form works all the same.
  }

  function restore(form) {
    const key = form.dataset.draft;
    if (!kept || !key) return;
    let draft = null;
    try {
      draft = JSON.parse(kept.getItem(key) || "null");
    } catch {
      kept.removeItem(key);
    }
    for (const field of form.elements) {
      if (!draft || !field.name || field.type === "hidden" || draft[field.name] === undefined) continue;
      // A form that was refused comes back as it was sent; the draft is that or newer.
      if (field.type === "radio") field.checked = field.value === draft[field.name];
      else field.value = draft[field.name];
    }
    form.addEventListener("input", () => {
      const now = {};
      for (const field of form.elements) {
        if (!field.name || field.type === "hidden" || (field.type === "radio" && !field.checked)) continue;
        now[field.name] = field.value;
      }
      try {
        kept.setItem(key, JSON.stringify(now));
      } catch {
        // It is full.
      }
    });
  }

  function count(place) {
    const field = document.getElementById(place.dataset.wordsOf);
    const show = () => {
      const words = field.value.split(/\s+/).filter(Boolean).length;
      place.textContent = words ? `${words} ${words === 1 ? "word" : "words"} so far.` : "";
    };
    field.addEventListener("input", show);
    show();
  }

  const sent = document.body.dataset.sent;
  if (kept && sent) {
    for (const key of Object.keys(kept)) if (key.startsWith(sent)) kept.removeItem(key);
  }
  document.querySelectorAll("form[data-draft]").forEach(restore);
  document.querySelectorAll("[data-words-of]").forEach(count);
})();
