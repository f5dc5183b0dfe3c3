// The list: only the rows that are seen are in the document.

// The most pixels that browsers let an element have, with room to spare. A longer list is scrolled
// in larger steps.
const maxPixels = 8_000_000;
const spare = 12; // rows that are drawn above and below

function newView(data, schedule, onSelect) {
  const heads = document.getElementById("heads"), space = document.getElementById("space");
  const svg = document.createElementNS(svgSpace, "svg");
  svg.id = "lanes";
  const list = make("div", "list");
  space.append(svg, list);
  const narrow = matchMedia("(max-width: 700px)");
  const view = {
    rows: null, lanes: [], selected: -1, width: 0, height: 28, open: new Set(), only: new Set(),
  };

  // Geometry: where a row is, and which one is at the top.
  const headHeight = () => heads.offsetHeight;
  const seen = () => Math.max(1, Math.floor((schedule.clientHeight - headHeight()) / view.height));
  const total = () => view.rows.length * view.height;
  const squeezed = () => total() > maxPixels;
  const firstSeen = () => {
    const at = schedule.scrollTop;
    if (!squeezed()) return Math.floor(at / view.height);
    const most = schedule.scrollHeight - schedule.clientHeight;
    return Math.round(at / Math.max(most, 1) * (view.rows.length - seen()));
  };

  view.scrollTo = row => {
    const at = firstSeen(), n = seen();
    if (row >= at && row < at + n - 1) return;
    const target = Math.max(0, Math.min(row - Math.floor(n / 3), view.rows.length - n));
    if (!squeezed()) {
      schedule.scrollTop = target * view.height;
    } else {
      const most = schedule.scrollHeight - schedule.clientHeight;
      schedule.scrollTop = target / Math.max(view.rows.length - n, 1) * most;
    }
  };

  view.render = () => {
    const at = firstSeen();
    const first = Math.max(0, at - spare), last = Math.min(view.rows.length, at + seen() + spare);
    // Of a squeezed list the rows are put where the window is.
    const base = squeezed() ? schedule.scrollTop - at * view.height : 0;
    const top = row => base + row * view.height;
    list.replaceChildren();
    for (let row = first; row < last; row++) list.append(rowElement(row, top(row)));
    if (!narrow.matches) {
      drawLanes(svg, data, view.rows, view.lanes, view.width, view.height, first, last, top, view.go);
    } else {
      svg.replaceChildren();
    }
  };

  const rowElement = (row, top) => {
    const kind = view.rows.kinds[row], i = view.rows.indices[row];
    const e = make("div", "row");
    e.style.transform = `translateY(${top}px)`;
    e.dataset.row = row;
    if (row === view.selected) e.classList.add("selected");
    const number = make("span", "no", "", e);
    make("span", "gutter", "", e);
    const text = make("span", "text", undefined, e);
    if (kind === stepRow) {
      const t = data.templates[data.template[i]];
      number.textContent = numberOf(data, i);
      e.classList.add("step");
      if (t.preempts) e.classList.add("preempts");
      make("span", "label " + colourOf(data, data.lane[i]), data.lanes[data.lane[i]].name, text);
      if (t.preempts) make("span", "preempts", "preempts", text);
      make("span", "what", operationOf(data, i), text);
      if (narrow.matches && data.after[i]) {
        make("span", "faint", `after ${numberOf(data, i - data.after[i])}`, text);
      }
      make("span", "place", placeOf(data, i), text);
    } else if (kind === noteRow) {
      const lane = data.notes.lane[i];
      e.classList.add("note", ["from", "to", "printed", "restored"][data.notes.kind[i]]);
      make("span", "label " + colourOf(data, lane), data.lanes[lane].name, text);
      make("span", "what", noteText(data, i), text);
    } else if (kind === foldRow) {
      const fold = data.folds[i];
      e.classList.add("fold");
      number.textContent = `${numberOf(data, fold.first)}-${numberOf(data, fold.last)}`;
      make("span", "what", (view.open.has(i) ? "▾ " : "▸ ") + fold.text, text);
    } else {
      const gap = `steps ${data.gap + 1} to ${data.gap + data.omitted}`;
      make("span", "what", gap + " are left out of this page", text);
    }
    return e;
  };

  // fill makes the rows anew, and keeps the selected step.
  view.fill = (filter, folded, idle) => {
    const step = view.selected >= 0 ? firstStep(data, view.rows, view.selected) : -1;
    const isFold = step >= 0 && view.rows.kinds[view.selected] === foldRow;
    const fold = isFold ? view.rows.indices[view.selected] : -1;
    view.rows = rowsOf(data, filter, folded, view.open);
    view.lanes = shownLanes(data, view.rows, idle);
    view.resize();
    view.selected = step >= 0 ? rowOf(data, view.rows, step) : -1;
    // The row of a fold that was opened comes before its steps.
    for (let row = view.selected; fold >= 0 && row >= 0 && firstStep(data, view.rows, row) === step; row--) {
      if (view.rows.kinds[row] === foldRow && view.rows.indices[row] === fold) view.selected = row;
    }
    if (view.selected >= 0) view.scrollTo(view.selected);
    view.render();
  };

  view.resize = () => {
    view.height = narrow.matches ? 44 : 28;
    const detailed = document.getElementById("work").classList.contains("detailed");
    const room = schedule.clientWidth * (detailed ? 0.32 : 0.5);
    view.width = Math.max(22, Math.min(110, room / Math.max(view.lanes.length, 1)));
    const gutter = narrow.matches ? 0 : view.width * view.lanes.length;
    schedule.style.setProperty("--gutter", gutter + "px");
    schedule.style.setProperty("--height", view.height + "px");
    space.style.height = Math.min(total(), maxPixels) + "px";
    svg.setAttribute("width", gutter);
    heads.replaceChildren();
    for (const lane of view.lanes) {
      const head = make("button", "head " + colourOf(data, lane), data.lanes[lane].name, heads);
      head.type = "button";
      const { name, note, blocked } = data.lanes[lane];
      head.title = [name, note, blocked].filter(s => s).join("\n");
      head.style.width = view.width + "px";
      head.setAttribute("aria-pressed", view.only.has(lane));
      head.dataset.lane = lane;
    }
  };

  // select selects a row, and shows it.
  view.select = row => {
    if (row < 0 || row >= view.rows.length) return;
    view.selected = row;
    view.scrollTo(row);
    view.render();
    onSelect(firstStep(data, view.rows, row));
  };

  // go goes to a step, and opens the folds around it.
  view.go = step => {
    if (step < 0) return;
    let opened = false;
    data.folds.forEach((f, i) => {
      if (f.first <= step && step <= f.last && !view.open.has(i)) { view.open.add(i); opened = true; }
    });
    if (opened || rowOf(data, view.rows, step) < 0) view.refill(step);
    view.select(rowOf(data, view.rows, step));
  };

  view.toggle = row => {
    if (view.rows.kinds[row] !== foldRow) return;
    const fold = view.rows.indices[row];
    if (!view.open.delete(fold)) view.open.add(fold);
    view.refill(-1);
  };

  let waiting = false;
  schedule.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; view.render(); });
  });
  list.addEventListener("click", event => {
    const e = event.target.closest(".row");
    if (!e) return;
    const row = Number(e.dataset.row);
    view.select(row);
    view.toggle(row);
  });
  return view;
}
