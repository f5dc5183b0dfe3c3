// What the reader does: filter, search, keys, links, theme.

const byId = id => document.getElementById(id);

// The kinds of operations that the filter offers.
const kinds = [["", "all kinds"], ["synchronisation", "locks and atomics"], ["channel", "channels"],
  ["lifetime", "goroutines"], ["timer", "time"], ["socket", "sockets"], ["choice", "choices"],
  ["io", "messages"], ["output", "output"]];

function theme() {
  const root = document.documentElement;
  const dark = getComputedStyle(root).colorScheme === "dark" ||
    getComputedStyle(root).colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches;
  root.style.colorScheme = dark ? "light" : "dark";
}

// keep calls a function when nothing more comes for a moment.
function later(call) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(call, 120); };
}

async function main() {
  byId("theme").addEventListener("click", theme);
  const data = await load();
  const schedule = byId("schedule"), pane = byId("detail"), work = byId("work");
  for (const [value, text] of kinds) make("option", "", text, byId("kind")).value = value;

  const close = () => {
    pane.replaceChildren();
    work.classList.remove("detailed");
    schedule.focus();
    view.resize();
    view.render();
  };
  const onSelect = step => {
    if (step < 0) return;
    history.replaceState(null, "", "#step-" + numberOf(data, step));
    const was = work.classList.contains("detailed");
    work.classList.add("detailed");
    showDetail(pane, data, step, cache.placeOf(numberOf(data, step)), view.go, close);
    if (!was) { view.resize(); view.scrollTo(view.selected); view.render(); }
  };
  const view = newView(data, schedule, onSelect);
  const toStep = step => { work.scrollIntoView(); view.go(step); };
  const cache = newCache(data, byId("rest"), toStep);

  const fill = () => {
    const filter = newFilter(data, byId("filter").value, byId("kind").value, view.only);
    view.fill(filter, byId("folded").checked, byId("idle").checked);
    let steps = 0;
    for (let i = 0; i < view.rows.length; i++) if (view.rows.kinds[i] === stepRow) steps++;
    const hidden = data.lanes.length - view.lanes.length;
    byId("count").textContent = `${steps.toLocaleString("en")} of ${data.steps.toLocaleString("en")} steps` +
      (hidden ? `, ${hidden} idle lane${hidden === 1 ? "" : "s"} hidden` : "");
  };
  // A step that is gone to must be seen, so filters that hide it are dropped.
  view.refill = step => {
    fill();
    if (step >= 0 && rowOf(data, view.rows, step) < 0) {
      byId("filter").value = byId("kind").value = "";
      view.only.clear();
      fill();
    }
  };

  byId("filter").addEventListener("input", later(fill));
  for (const id of ["kind", "folded", "idle"]) byId(id).addEventListener("change", fill);
  byId("heads").addEventListener("click", event => {
    const head = event.target.closest(".head");
    if (!head) return;
    const lane = Number(head.dataset.lane);
    if (!view.only.delete(lane)) view.only.add(lane);
    fill();
  });

  const find = way => {
    const word = byId("search").value.toLowerCase(), n = view.rows.length;
    if (!word) return;
    for (let i = 1; i <= n; i++) {
      const row = (((view.selected + way * i) % n) + n) % n;
      if (textOf(data, view.rows, row).toLowerCase().includes(word)) { view.select(row); return; }
    }
    byId("count").textContent = "nothing found";
  };
  byId("search").addEventListener("keydown", event => {
    if (event.key === "Enter") { event.preventDefault(); find(event.shiftKey ? -1 : 1); }
  });

  const selectedStep = () => view.selected >= 0 ? firstStep(data, view.rows, view.selected) : -1;
  const keys = {
    j: () => view.select(Math.min(view.selected + 1, view.rows.length - 1)),
    k: () => view.select(Math.max(view.selected - 1, 0)),
    g: () => view.select(0),
    G: () => view.select(view.rows.length - 1),
    o: () => view.selected >= 0 && view.toggle(view.selected),
    a: () => { const s = selectedStep(); if (s >= 0 && data.after[s]) view.go(s - data.after[s]); },
    e: () => { const s = selectedStep(); if (s >= 0) view.go(data.leads[s]); },
    n: () => find(1), N: () => find(-1), t: theme,
    "/": () => byId("search").focus(), f: () => byId("filter").focus(), Escape: close,
  };
  document.addEventListener("keydown", event => {
    const typing = event.target.closest("input[type=search], select");
    if (event.defaultPrevented) return; // it was for the I/O cache
    if (event.ctrlKey || event.altKey || event.metaKey || typing && event.key !== "Escape") return;
    if (typing) { event.target.blur(); return; }
    if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
  });

  const follow = () => {
    const link = /^#step-(\d+)$/.exec(location.hash);
    if (link) toStep(stepOf(data, Number(link[1])));
    const place = /^#place-(\d+)$/.exec(location.hash);
    if (place) cache.go(Number(place[1]) - 1);
  };
  addEventListener("hashchange", follow);
  addEventListener("resize", later(() => { view.resize(); view.render(); }));
  fill();
  follow();
  document.documentElement.dataset.ready = Math.round(performance.now()); // for tests: milliseconds
}

main().catch(error => { byId("count").textContent = "The schedule cannot be shown: " + error.message; });
