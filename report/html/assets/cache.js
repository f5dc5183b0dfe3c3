// The I/O cache: a row for each place, below the one before its input. The way of the counterexample
// goes straight down, and what others did leaves it to the right.

const shortRun = 3; // places without a branch that are not folded
const manyRows = 60; // with more rows, what leaves the way of the counterexample is closed at first
const maxColumn = 12; // columns further to the right are drawn as this one

// newCache adds the section before another one. It is drawn when it is opened. toStep goes to a step.
function newCache(data, before, toStep) {
  const cache = { placeOf: () => -1, go: () => {} };
  if (!data.cache) return cache;
  const places = data.cache.places, n = places.length;
  const section = make("details"), summary = make("summary", "", "I/O cache", section);
  const box = make("div", "", undefined, section);
  section.id = "cache";
  before.before(section);
  if (n === 0) {
    make("p", "faint", "It is not in the file of this counterexample: a check keeps it with the first ten " +
      "that it finds, and earlier versions of Tandem did not.", box);
    return cache;
  }
  const sum = of => places.reduce((total, p) => total + of(p), 0);
  const size = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  summary.textContent = "I/O cache: " + [size(n - 1, "input"),
    size(sum(p => p.image ? 1 : 0), "checkpoint"), size(sum(p => p.restores), "restore")].join(", ");

  // The tree. The last place below another goes on straight down; see Place in package page.
  const below = places.map(() => []), column = new Int32Array(n), weight = new Int32Array(n);
  const byStep = new Map();
  places.forEach((p, i) => {
    if (p.up >= 0) below[p.up].push(i);
    if (p.step) byStep.set(p.step, i);
  });
  const straight = below.map(list => list.at(-1) ?? -1);
  for (let i = n - 1; i >= 0; i--) {
    weight[i]++;
    if (places[i].up >= 0) weight[places[i].up] += weight[i];
  }
  const leaves = i => i > 0 && straight[places[i].up] !== i;
  for (let i = 1; i < n; i++) column[i] = column[places[i].up] + (leaves(i) ? 1 : 0);

  // Folds: runs of places where nobody went another way and nothing was restored.
  const foldOf = new Int32Array(n).fill(-1), folds = [];
  const plain = i => i > 0 && places[i].up > 0 && !places[i].restores && below[i].length === 1 &&
    below[places[i].up].length === 1;
  for (let i = 1; i < n; i++) {
    let last = i;
    while (last < n && plain(last)) last = below[last][0];
    if (plain(i) && foldOf[i] < 0 && last - i > shortRun) {
      for (let j = i; j < last; j++) foldOf[j] = folds.length;
      folds.push({ first: i, last: last - 1, open: false });
    }
    if (last > i) i = last - 1;
  }
  const closed = new Set();

  // rows lists what is seen: places, and folds as numbers below 0.
  const rows = () => {
    const list = [], stack = [0];
    while (stack.length > 0) {
      let i = stack.pop();
      const fold = folds[foldOf[i]];
      if (fold && fold.first === i) {
        list.push(-1 - foldOf[i]);
        if (!fold.open) i = fold.last;
      }
      if (!fold || fold.open) list.push(i);
      if (closed.has(i)) continue;
      if (straight[i] >= 0) stack.push(straight[i]);
      for (let k = below[i].length - 2; k >= 0; k--) stack.push(below[i][k]);
    }
    return list;
  };
  const placeAt = key => key < 0 ? folds[-1 - key].first : key;
  if (rows().length > manyRows) {
    for (let i = 1; i < n; i++) if (leaves(i) && below[i].length > 0) closed.add(i);
  }

  const textOf = list => list.map(s => data.strings[s]).join(", ");
  const times = number => number === 1 ? "once" : number.toLocaleString("en") + " times";
  let tree = null, shown = [], current = 0;

  // rails draws the lines on the left of a row: those that pass by, and its own.
  const rails = (e, i, ends, kind, dotted) => {
    const box = make("span", "rails", undefined, e), at = column[i];
    const put = (name, c, onPath) => {
      const line = make("i", name + (onPath ? " path" : ""), undefined, box);
      line.style.left = Math.min(c, maxColumn) * 16 + 6 + "px";
    };
    // What passes by leads to the place that goes on straight down from where others leave.
    let up = i, c = at;
    while (c > 0) {
      while (!leaves(up)) up = places[up].up;
      up = places[up].up;
      c--;
      if (c <= maxColumn) put("pass", c, places[straight[up]].path);
    }
    const bends = leaves(i) && at <= maxColumn;
    if (i > 0) put(bends ? "bend" : "in" + dotted, bends ? at - 1 : at, places[i].path);
    const next = straight[ends];
    if (next >= 0 && !closed.has(ends)) put("out" + dotted, at, places[next].path);
    if (kind) put(kind, at, places[i].path);
  };

  const placeRow = (key, index) => {
    const fold = key < 0 ? folds[-1 - key] : null, i = placeAt(key), p = places[i];
    const e = make("div", "node" + (p.path ? " path" : ""));
    e.setAttribute("role", "treeitem");
    e.setAttribute("aria-level", column[i] + 1);
    e.tabIndex = index === current ? 0 : -1;
    e.dataset.index = index;
    e.style.setProperty("--column", Math.min(column[i], 6));
    if (fold) {
      e.classList.add("run");
      const inside = places.slice(fold.first, fold.last + 1);
      make("span", "no", `${fold.first + 1}-${fold.last + 1}`, e);
      rails(e, i, fold.last, "", " dotted");
      const images = inside.filter(p => p.image).length;
      make("span", "what", `${fold.open ? "▾" : "▸"} ${inside.length} inputs without a branch` +
        (images ? ", " + size(images, "checkpoint") : ""), e);
      e.setAttribute("aria-expanded", fold.open);
      return e;
    }
    make("span", "no", i + 1, e);
    rails(e, i, i, p.image ? "image" : "dot", "");
    const what = make("span", "what", undefined, e);
    const canClose = leaves(i) && below[i].length > 0;
    const mark = canClose ? (closed.has(i) ? "▸ " : "▾ ") : "";
    if (canClose) e.setAttribute("aria-expanded", !closed.has(i));
    make("span", "sent", mark + textOf(p.sent), what);
    if (p.got.length > 0) make("span", "got", "← " + textOf(p.got), what);
    if (closed.has(i)) make("span", "faint", `and ${size(weight[i] - 1, "input")} below`, what);
    const more = make("span", "more", undefined, e);
    make("span", "hits", p.hits ? size(p.hits, "hit") : "", more);
    const held = [p.image && `checkpoint (${p.image === "criu" ? "CRIU" : p.image})`];
    if (p.restores) held.push("restored " + times(p.restores));
    if (p.starts) held.push("started " + times(p.starts));
    make("span", "held", held.filter(s => s).join(", "), more);
    const end = make("span", "end", undefined, more);
    if (p.step && stepOf(data, p.step) >= 0) {
      const a = make("a", "", "step " + p.step, end);
      a.href = "#step-" + p.step;
      a.tabIndex = -1;
    }
    return e;
  };

  const draw = () => {
    shown = rows();
    current = Math.min(current, shown.length - 1);
    tree.replaceChildren(...shown.map(placeRow));
    const widest = shown.reduce((most, key) => Math.max(most, column[placeAt(key)]), 0);
    tree.style.setProperty("--rails", (Math.min(widest, maxColumn) + 1) * 16 + 8 + "px");
  };

  const focus = index => {
    if (index < 0 || index >= shown.length) return;
    tree.children[current].tabIndex = -1;
    current = index;
    tree.children[index].tabIndex = 0;
    tree.children[index].focus();
  };

  // toggle opens or closes what a row has, if it is not so already.
  const toggle = (index, open) => {
    const key = shown[index], fold = key < 0 ? folds[-1 - key] : null;
    const can = fold || leaves(key) && below[key].length > 0;
    if (!can || (fold ? fold.open : !closed.has(key)) === open) return false;
    if (fold) fold.open = open; else if (open) closed.delete(key); else closed.add(key);
    draw();
    focus(index);
    return true;
  };
  const flip = index => {
    const key = shown[index];
    return toggle(index, key < 0 ? !folds[-1 - key].open : closed.has(key));
  };

  // follow goes to the step of a row, or opens what it has.
  const follow = index => {
    const p = places[shown[index]];
    if (p && p.step && stepOf(data, p.step) >= 0) {
      toStep(stepOf(data, p.step));
      return;
    }
    flip(index);
  };

  const start = () => {
    if (tree) return;
    make("p", "faint", "Each row is an input to the peers, given after those that lead to it, with their " +
      "answer. This counterexample goes straight down, in red; other executions leave it to the right. " +
      "Hits are executions that got the answer from the cache. A square is a checkpoint.", box);
    tree = make("div", "", undefined, box);
    tree.id = "places";
    tree.setAttribute("role", "tree");
    tree.setAttribute("aria-label", "I/O cache");
    if (data.cache.left) {
      make("p", "faint", `${size(data.cache.left, "more input")} that fewer executions gave ` +
        `${data.cache.left === 1 ? "is" : "are"} left out.`, box);
    }
    tree.addEventListener("click", event => {
      const e = event.target.closest(".node");
      if (!e || event.target.closest("a")) return;
      focus(Number(e.dataset.index));
      follow(current);
    });
    const keys = {
      ArrowDown: () => focus(current + 1), ArrowUp: () => focus(current - 1), Home: () => focus(0),
      End: () => focus(shown.length - 1), ArrowRight: () => toggle(current, true),
      ArrowLeft: () => toggle(current, false), Enter: () => follow(current), " ": () => flip(current),
    };
    keys.j = keys.ArrowDown;
    keys.k = keys.ArrowUp;
    keys.o = keys[" "];
    tree.addEventListener("keydown", event => {
      if (event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    draw();
  };
  section.addEventListener("toggle", () => section.open && start());

  cache.placeOf = step => byStep.get(step) ?? -1;
  // go opens all that a place is in, and goes there.
  cache.go = place => {
    if (place < 0 || place >= n) return;
    section.open = true;
    start();
    if (foldOf[place] >= 0) folds[foldOf[place]].open = true;
    for (let i = places[place].up; i >= 0; i = places[i].up) closed.delete(i);
    draw();
    focus(shown.indexOf(place));
    tree.children[current].scrollIntoView({ block: "center" });
  };
  return cache;
}
