// The data of the page. See Encode in package page for their form.

// The kinds of notes, as in package page.
const fromPeer = 0, toPeer = 1, output = 2, restored = 3;

// load unpacks the data of the page.
async function load() {
  const text = document.getElementById("data").textContent;
  const packed = fromBase64(text);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = numberAt(bytes, 0);
  const data = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  let at = 4 + size;
  const column = () => {
    const list = new Int32Array(numberAt(bytes, at));
    at += 4;
    for (let i = 0; i < list.length; i++) {
      let number = 0, shift = 0, byte;
      do {
        byte = bytes[at++];
        number |= (byte & 127) << shift;
        shift += 7;
      } while (byte & 128);
      list[i] = number;
    }
    return list;
  };
  for (const name of ["template", "object", "lane", "after"]) data[name] = column();
  data.notes = {};
  for (const name of ["step", "kind", "lane", "text", "size", "kept"]) data.notes[name] = column();
  data.bytes = bytes.subarray(at);
  index(data);
  return data;
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const plain = atob(text);
  const bytes = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i);
  return bytes;
}

function numberAt(bytes, at) {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true);
}

// index adds what can be found quickly then: the notes of each step, where arrows lead, where the
// bytes of messages are.
function index(data) {
  const n = data.notes, count = n.step.length;
  n.at = new Int32Array(count);
  data.firstNote = new Int32Array(data.steps + 1);
  let at = 0, step = 0;
  for (let i = 0; i < count; i++) {
    step += n.step[i];
    n.step[i] = step;
    n.at[i] = at;
    at += n.kept[i];
    data.firstNote[step + 1]++;
  }
  for (let i = 0; i < data.steps; i++) data.firstNote[i + 1] += data.firstNote[i];
  data.leads = new Int32Array(data.steps).fill(-1);
  for (let i = data.steps - 1; i >= 0; i--) {
    if (data.after[i]) data.leads[i - data.after[i]] = i;
  }
}

// numberOf is the number that people know a step by. They count from 1.
function numberOf(data, step) {
  return step + 1 + (step >= data.gap ? data.omitted : 0);
}

// stepOf is the index of a step with a number; -1: it is not there.
function stepOf(data, number) {
  const step = number - 1;
  if (step < 0 || step >= data.steps + data.omitted) return -1;
  if (step < data.gap) return step;
  if (step < data.gap + data.omitted) return -1;
  return step - data.omitted;
}

// Texts of a step and of a note.
function operationOf(data, step) {
  const t = data.templates[data.template[step]];
  return (data.strings[t.op] + " " + data.strings[data.object[step]]).trim();
}

function placeOf(data, step) {
  const t = data.templates[data.template[step]];
  return (data.strings[t.at] + " " + data.strings[t.in]).trim();
}

function noteText(data, note) {
  const text = data.strings[data.notes.text[note]];
  switch (data.notes.kind[note]) {
  case toPeer: return "→ " + text;
  case fromPeer: return "← " + text;
  case restored: return "↺ " + text;
  }
  return "▸ " + text;
}
