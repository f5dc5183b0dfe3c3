// The drawing beside the rows: a line for each lane, a dot for each step, and arrows.

const svgSpace = "http://www.w3.org/2000/svg";
const colours = 8; // of goroutines, in the style

// colourOf is the class that gives a lane its colour.
function colourOf(data, lane) {
  return data.lanes[lane].peer ? "peer" : "lane" + lane % colours;
}

// shownLanes are the lanes that are drawn: those of the rows, or all of them. A lane without a row is
// idle. Of many rows only the steps count that are not folded.
function shownLanes(data, rows, idle) {
  const used = new Uint8Array(data.lanes.length);
  for (let row = 0; row < rows.length; row++) {
    const i = rows.indices[row];
    if (rows.kinds[row] === stepRow) used[data.lane[i]] = 1;
    if (rows.kinds[row] === noteRow) used[data.notes.lane[i]] = 1;
    if (rows.kinds[row] === foldRow) used[data.lane[data.folds[i].first]] = 1;
  }
  const list = [];
  for (let lane = 0; lane < data.lanes.length; lane++) {
    if (idle || used[lane] || data.lanes[lane].blocked) list.push(lane);
  }
  return list;
}

function draw(name, attributes, parent) {
  const e = document.createElementNS(svgSpace, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  parent.append(e);
  return e;
}

// drawLanes draws the rows from first up to last. The place of a row is top(row), also of rows that
// are not seen: arrows go there. follow is called with the step that a clicked arrow comes from.
function drawLanes(svg, data, rows, lanes, width, height, first, last, top, follow) {
  svg.replaceChildren();
  const x = new Map(lanes.map((lane, i) => [lane, (i + 0.5) * width]));
  const y0 = top(first), y1 = top(last);
  for (const lane of lanes) {
    const at = x.get(lane);
    draw("line", { class: "rail " + colourOf(data, lane), x1: at, x2: at, y1: y0, y2: y1 }, svg);
  }
  const line = (kind, from, to, title, step) => {
    const group = draw("g", { class: "arrow " + kind }, svg);
    const bend = from.x === to.x ? 14 : 0;
    const d = bend ? `M${from.x} ${from.y}q${bend} ${(to.y - from.y) / 2} 0 ${to.y - from.y}`
      : `M${from.x} ${from.y}L${to.x} ${to.y}`;
    if (step >= 0) draw("path", { class: "wide", d }, group);
    draw("path", { d }, group);
    const angle = Math.atan2(to.y - from.y, to.x - from.x), size = 7;
    const tip = a => `${to.x - size * Math.cos(angle + a)} ${to.y - size * Math.sin(angle + a)}`;
    draw("polygon", { points: `${to.x} ${to.y} ${tip(0.45)} ${tip(-0.45)}` }, group);
    draw("title", {}, group).textContent = title;
    if (step >= 0) group.addEventListener("click", () => follow(step));
  };
  for (let row = first; row < last; row++) {
    const i = rows.indices[row], y = top(row) + height / 2;
    const dot = (lane, kind) => x.has(lane) &&
      draw("circle", { class: kind + " " + colourOf(data, lane), cx: x.get(lane), cy: y, r: 4.5 }, svg);
    if (rows.kinds[row] === foldRow) {
      const seen = new Set();
      const fold = data.folds[i];
      for (let step = fold.first; step <= fold.last && step < fold.first + 2000; step++) {
        seen.add(data.lane[step]);
      }
      for (const lane of seen) dot(lane, "fold");
    }
    if (rows.kinds[row] === stepRow) {
      const back = data.after[i], lane = data.lane[i];
      if (back) {
        const source = data.lane[i - back], from = rowOf(data, rows, i - back);
        if (x.has(source) && x.has(lane) && from >= 0 && from < row) {
          line("order", { x: x.get(source), y: Math.max(top(from) + height / 2, y0 - 100) },
            { x: x.get(lane), y: y - (source === lane ? 0 : 2) },
            `after step ${numberOf(data, i - back)}: ${operationOf(data, i - back)}`, i - back);
        }
      }
      dot(lane, "step");
    }
    if (rows.kinds[row] === noteRow) {
      const lane = data.lane[data.notes.step[i]], peer = data.notes.lane[i], kind = data.notes.kind[i];
      if (x.has(lane) && x.has(peer) && lane !== peer && kind <= toPeer) {
        const ends = [{ x: x.get(lane), y }, { x: x.get(peer), y }];
        if (kind === fromPeer) ends.reverse();
        line("bytes", ends[0], ends[1], noteText(data, i), -1);
      } else {
        dot(peer, "printed");
      }
    }
  }
}
