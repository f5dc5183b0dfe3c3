// What rows the list has: steps with the notes below them, folds, and what was left out.

const stepRow = 0, noteRow = 1, foldRow = 2, gapRow = 3;

// The most notes that are shown of steps that are folded, and how many of them are the first ones.
const foldedNotes = 6, firstFolded = 3;

// Filter says which steps are shown. Words must all be in a step or in a note of it.
function newFilter(data, words, kind, lanes) {
  words = words.toLowerCase().split(/\s+/).filter(w => w !== "");
  if (words.length === 0 && kind === "" && lanes.size === 0) return null;
  const texts = data.strings.map(s => s.toLowerCase());
  const names = data.lanes.map(l => l.name.toLowerCase());
  const library = kind === "io" || kind === "output" ? "" : kind;
  return step => {
    const t = data.templates[data.template[step]];
    const first = data.firstNote[step], last = data.firstNote[step + 1];
    if (library && t.kind !== library) return false;
    if (kind === "io" || kind === "output") {
      let found = false;
      for (let i = first; i < last && !found; i++) {
        found = kind === "io" ? data.notes.kind[i] <= toPeer : data.notes.kind[i] === output;
      }
      if (!found) return false;
    }
    if (lanes.size > 0 && !lanes.has(data.lane[step])) {
      let found = false;
      for (let i = first; i < last && !found; i++) found = lanes.has(data.notes.lane[i]);
      if (!found) return false;
    }
    return words.every(w => {
      const own = [t.op, data.object[step], t.at, t.in, t.lib];
      if (own.some(i => texts[i].includes(w)) || names[data.lane[step]].includes(w)) return true;
      for (let i = first; i < last; i++) if (texts[data.notes.text[i]].includes(w)) return true;
      return false;
    });
  };
}

// rowsOf lists the rows: kinds and indices. Folds are closed but for those that are open. With a
// filter nothing is folded.
function rowsOf(data, filter, folded, open) {
  const kinds = [], indices = [];
  const add = (kind, index) => { kinds.push(kind); indices.push(index); };
  const notes = (first, last) => { for (let i = first; i < last; i++) add(noteRow, i); };
  let fold = 0;
  for (let step = 0; step < data.steps;) {
    if (data.omitted && step === data.gap) add(gapRow, 0);
    if (filter) {
      if (filter(step)) {
        add(stepRow, step);
        notes(data.firstNote[step], data.firstNote[step + 1]);
      }
      step++;
      continue;
    }
    while (fold < data.folds.length && data.folds[fold].first < step) fold++;
    let closed = null;
    while (folded && fold < data.folds.length && data.folds[fold].first === step && !closed) {
      add(foldRow, fold);
      if (!open.has(fold)) closed = data.folds[fold];
      fold++;
    }
    if (closed) {
      const first = data.firstNote[step], last = data.firstNote[closed.last + 1];
      if (!closed.loop && last - first <= foldedNotes) notes(first, last);
      if (!closed.loop && last - first > foldedNotes) {
        notes(first, first + firstFolded);
        notes(last - (foldedNotes - firstFolded), last);
      }
      step = closed.last + 1;
      continue;
    }
    add(stepRow, step);
    notes(data.firstNote[step], data.firstNote[step + 1]);
    step++;
  }
  return { kinds: Uint8Array.from(kinds), indices: Int32Array.from(indices), length: kinds.length };
}

// firstStep and lastStep are the steps that a row is about; -1: none.
function firstStep(data, rows, row) {
  switch (rows.kinds[row]) {
  case stepRow: return rows.indices[row];
  case noteRow: return data.notes.step[rows.indices[row]];
  case foldRow: return data.folds[rows.indices[row]].first;
  }
  return -1;
}

// rowOf is the row that shows a step: its own, or that of the fold it is in. Rows are in the order of
// steps, so that it is searched by halves.
function rowOf(data, rows, step) {
  let low = 0, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    let at = firstStep(data, rows, middle);
    if (at < 0) at = data.gap - 0.5;
    if (at < step) low = middle + 1; else high = middle;
  }
  for (let row = low; row < rows.length && firstStep(data, rows, row) === step; row++) {
    if (rows.kinds[row] === stepRow) return row;
  }
  for (let row = Math.min(low, rows.length - 1); row >= 0; row--) {
    if (rows.kinds[row] !== foldRow) continue;
    const fold = data.folds[rows.indices[row]];
    if (fold.first <= step && step <= fold.last) return row;
    if (fold.last < step && !fold.loop) break;
  }
  return -1;
}

// textOf is what a row says, for the search.
function textOf(data, rows, row) {
  const i = rows.indices[row];
  switch (rows.kinds[row]) {
  case stepRow: return operationOf(data, i) + " " + placeOf(data, i) + " " + data.lanes[data.lane[i]].name;
  case noteRow: return noteText(data, i);
  case foldRow: return data.folds[i].text;
  }
  return "";
}
