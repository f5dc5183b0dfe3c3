// The pane beside the list: all that is known of a step, with the source.

const maxDump = 2048; // bytes of a message that are shown at once

// make makes an element with a class and a text. Texts of the program never become markup.
function make(name, kind, text, parent) {
  const e = document.createElement(name);
  if (kind) e.className = kind;
  if (text !== undefined) e.textContent = text;
  if (parent) parent.append(e);
  return e;
}

// showDetail shows a step. go is called with another step that is clicked. place is the place of the
// I/O cache that the step led to; -1: there is none.
function showDetail(pane, data, step, place, go, close) {
  pane.replaceChildren();
  pane.scrollTop = 0;
  const t = data.templates[data.template[step]], lane = data.lanes[data.lane[step]];
  const button = make("button", "close", "Close", pane);
  button.type = "button";
  button.addEventListener("click", close);
  make("h2", "", `Step ${numberOf(data, step)}`, pane);
  const what = make("p", "what", undefined, pane);
  make("span", "label " + colourOf(data, data.lane[step]), lane.name, what);
  make("span", "", " " + operationOf(data, step), what);
  if (t.preempts) make("p", "preempts", "The goroutine that ran before could have gone on.", pane);
  const started = lane.created ? ", started at " + lane.created : "";
  if (lane.note) make("p", "faint", "runs " + lane.note + started, pane);
  if (lane.blocked) make("p", "faint", "waits in the end: " + lane.blocked, pane);
  const link = (text, to) => {
    const p = make("p", "", text + " ", pane);
    const name = data.lanes[data.lane[to]].name;
    const a = make("a", "", `step ${numberOf(data, to)}: ${name} ${operationOf(data, to)}`, p);
    a.href = "#step-" + numberOf(data, to);
    a.addEventListener("click", event => { event.preventDefault(); go(to); });
  };
  if (data.after[step]) link("after", step - data.after[step]);
  if (data.leads[step] >= 0) link("leads to", data.leads[step]);
  showCalls(pane, data, t);
  showNotes(pane, data, step);
  if (place >= 0) {
    const a = make("a", "", "place " + (place + 1), make("p", "", "leads to ", pane));
    a.href = "#place-" + (place + 1);
    a.parentElement.append(" of the I/O cache");
  }
}

// showCalls shows the calls that are known, and the source of the one that is chosen: at first that
// of the program itself.
function showCalls(pane, data, t) {
  const calls = data.stacks[t.stack].slice();
  const own = data.strings[t.at];
  if (own && !calls.some(c => c.at === own)) calls.push({ in: data.strings[t.in], at: own });
  if (calls.length === 0) return;
  make("h3", "", "Calls", pane);
  const list = make("ol", "calls", undefined, pane);
  const source = make("pre", "source");
  const choose = i => {
    [...list.children].forEach((e, j) => e.firstChild.classList.toggle("chosen", i === j));
    showSource(source, data, calls[i].at);
  };
  calls.forEach((c, i) => {
    const b = make("button", "call", undefined, make("li", "", undefined, list));
    b.type = "button";
    make("span", "", c.in, b);
    make("span", "place", c.at, b);
    b.addEventListener("click", () => choose(i));
  });
  pane.append(source);
  choose(Math.max(calls.findIndex(c => c.at === own), 0));
}

// showSource shows the lines around a place.
function showSource(pane, data, place) {
  pane.replaceChildren();
  const colon = place.lastIndexOf(":");
  const file = place.slice(0, colon), number = Number(place.slice(colon + 1));
  const part = data.sources.find(
    s => s.file === file && s.first <= number && number < s.first + s.lines.length);
  if (!part) {
    make("span", "faint", "The source of " + place + " is not in this page.", pane);
    return;
  }
  const around = 12;
  const end = Math.min(part.first + part.lines.length, number + around + 1);
  for (let i = Math.max(part.first, number - around); i < end; i++) {
    const line = make("span", i === number ? "line here" : "line", undefined, pane);
    make("span", "number", String(i).padStart(5) + "  ", line);
    make("span", "", part.lines[i - part.first] + "\n", line);
  }
}

// showNotes shows the messages of a step with their bytes, and what was printed.
function showNotes(pane, data, step) {
  const first = data.firstNote[step], last = data.firstNote[step + 1], n = data.notes;
  if (first === last) return;
  make("h3", "", "Messages and output", pane);
  for (let i = first; i < last; i++) {
    make("p", "note", noteText(data, i), pane);
    if (!n.kept[i]) continue;
    const bytes = data.bytes.subarray(n.at[i], n.at[i] + n.kept[i]);
    const dump = make("pre", "dump", dumpOf(bytes.subarray(0, maxDump)), pane);
    if (bytes.length > maxDump) {
      const more = make("button", "", `show all ${bytes.length} bytes`, pane);
      more.type = "button";
      more.addEventListener("click", () => { dump.textContent = dumpOf(bytes); more.remove(); });
    }
    if (n.kept[i] < n.size[i]) {
      make("p", "faint", `${n.size[i] - n.kept[i]} more bytes are not in this page`, pane);
    }
  }
}

// dumpOf shows bytes in hexadecimal and as ASCII.
function dumpOf(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 16) {
    const row = bytes.subarray(at, at + 16);
    const hex = Array.from(row, b => b.toString(16).padStart(2, "0")).join(" ");
    const ascii = Array.from(row, b => b >= 32 && b < 127 ? String.fromCharCode(b) : ".").join("");
    text += at.toString(16).padStart(4, "0") + "  " + hex.padEnd(47) + "  " + ascii + "\n";
  }
  return text;
}
