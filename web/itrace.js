'use strict';
// The page of `wavetap trace-instructions -o DIR`: source beside machine code, cycles per line, arrows from
// waits to what they wait for.
const data = JSON.parse(document.getElementById('data').textContent);
const by = id => document.getElementById(id);
const number = value => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');

function cell(row, text, kind) {
  const made = row.insertCell();
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function bar(row, cycles, most, title) {
  const made = row.insertCell();
  if (!cycles) return;
  const drawn = document.createElement('span');
  drawn.className = 'bar';
  drawn.style.width = Math.max(1, Math.round(80 * cycles / most)) + 'px';
  drawn.title = title;
  made.append(drawn);
}

const stalled = row => Object.values(row.stalls).reduce((sum, cycles) => sum + cycles, 0);
const reasons = stalls => Object.entries(stalls).sort((a, b) => b[1] - a[1])
  .map(([cause, cycles]) => `${number(cycles)} cycles: ${data.titles[cause]}`).join('\n');

function showHead() {
  by('kernel').textContent = data.kernel || 'kernel';
  by('facts').textContent = data.head;
  const table = document.createElement('table');
  const all = data.issuing + Object.values(data.stalls).reduce((sum, cycles) => sum + cycles, 0);
  const rows = Object.entries(data.stalls).map(([cause, cycles]) => [data.titles[cause], cycles]);
  rows.push(['issuing instructions', data.issuing]);
  for (const [title, cycles] of rows.sort((a, b) => b[1] - a[1])) {
    const row = table.insertRow();
    cell(row, title);
    cell(row, number(cycles));
    cell(row, (100 * cycles / Math.max(all, 1)).toFixed(1) + ' %');
    bar(row, cycles, all, title);
  }
  by('causes').append(table);
}

// --- Machine code.

const isaRows = [];
const places = data.rows.map(row => row.source.filter(place => place));

function showCode() {
  const most = Math.max(1, ...data.rows.map(row => row.cycles));
  data.rows.forEach((row, index) => {
    const line = by('isa').insertRow();
    isaRows.push(line);
    if (row.text.startsWith(';')) {
      line.className = 'label';
      cell(line, row.text.slice(2)).colSpan = 5;
      return;
    }
    if (!row.hits) line.className = 'cold';
    cell(line, row.address, 'number');
    cell(line, row.hits ? number(row.hits) : '', 'number');
    cell(line, row.cycles ? number(row.cycles) : '', 'number');
    bar(line, row.cycles, most, `${number(row.cycles)} cycles, ${number(stalled(row))} of them stalled\n${reasons(row.stalls)}`);
    cell(line, row.text);
    line.addEventListener('mouseenter', () => choose(index));
    line.addEventListener('click', () => toSource(index));
  });
}

// --- Arrows, from the wait at the right end to the producer.

const arrows = [];

function showArrows() {
  const svg = by('arrows');
  const height = by('isa').offsetHeight;
  svg.setAttribute('height', height);
  svg.style.height = height + 'px';
  const middle = index => isaRows[index].offsetTop + isaRows[index].offsetHeight / 2;
  for (const edge of data.edges) {
    const from = middle(edge.wait), to = middle(edge.producer);
    const depth = 8 + Math.min(52, Math.abs(from - to) / 8);
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', `M70,${from} C${70 - depth},${from} ${70 - depth},${to} 64,${to} m5,-3 l-5,3 l5,3`);
    const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
    title.textContent = `${edge.times} times`;
    path.append(title);
    svg.append(path);
    arrows.push({edge, path});
    isaRows[edge.wait].title += `waits for ${data.rows[edge.producer].address} ${data.rows[edge.producer].text}: ` +
      `${number(edge.times)} times, hidden ${number(edge.hidden / Math.max(edge.times, 1))}, ` +
      `exposed ${number(edge.exposed / Math.max(edge.times, 1))} cycles each\n`;
  }
}

function choose(index) {
  for (const row of isaRows) row.classList.remove('chosen');
  isaRows[index].classList.add('chosen');
  for (const {edge, path} of arrows) {
    const isChosen = edge.wait === index || edge.producer === index;
    path.classList.toggle('chosen', isChosen);
    if (!isChosen) continue;
    isaRows[edge.wait].classList.add('chosen');
    isaRows[edge.producer].classList.add('chosen');
  }
}

// --- Source.

let sourceRows = new Map();

function showFile(file) {
  const table = by('source');
  table.textContent = '';
  sourceRows = new Map();
  const costs = new Map(data.lines.filter(line => line.file === file).map(line => [line.line, line]));
  const most = Math.max(1, ...data.lines.map(line => line.cycles));
  const text = data.sources[file] || [];
  const last = Math.max(text.length, ...costs.keys(), 0);
  for (let i = 1; i <= last; ++i) {
    const row = table.insertRow();
    const cost = costs.get(i);
    sourceRows.set(i, row);
    cell(row, i, 'number');
    cell(row, cost ? number(cost.hits) : '', 'number');
    cell(row, cost ? number(cost.cycles) : '', 'number');
    bar(row, cost ? cost.cycles : 0, most, cost ? `${number(cost.stalled)} cycles stalled, mostly ${data.titles[cost.mostly] || 'nothing'}` : '');
    cell(row, text[i - 1] || '');
    row.addEventListener('click', () => toCode(file, i));
  }
}

function toSource(index) {
  const place = places[index][0];
  if (!place) return;
  if (by('file').value !== place[0]) {
    by('file').value = place[0];
    showFile(place[0]);
  }
  const row = sourceRows.get(place[1]);
  if (!row) return;
  for (const other of sourceRows.values()) other.classList.remove('chosen');
  row.classList.add('chosen');
  row.scrollIntoView({block: 'center'});
}

function toCode(file, line) {
  let isFirst = true;
  isaRows.forEach((row, index) => {
    const isHere = places[index].some(place => place[0] === file && place[1] === line);
    row.classList.toggle('chosen', isHere);
    if (isHere && isFirst) row.scrollIntoView({block: 'center'});
    if (isHere) isFirst = false;
  });
}

function showFiles() {
  const files = [...new Set([...data.lines.map(line => line.file), ...Object.keys(data.sources)])];
  for (const file of files) by('file').append(new Option(file, file));
  by('file').addEventListener('change', () => showFile(by('file').value));
  if (files.length) return showFile(files[0]);
  by('file').hidden = true;
  by('source').createCaption().textContent = 'No source lines are known; compile with -g or -gline-tables-only.';
}

function showLoops() {
  if (!data.loops.length) return;
  const table = document.createElement('table');
  const head = table.insertRow();
  for (const title of ['loop from', 'to', 'entered', 'iterations', 'cycles each']) {
    const made = document.createElement('th');
    made.textContent = title;
    head.append(made);
  }
  for (const loop of data.loops) {
    const row = table.insertRow();
    cell(row, data.rows[loop.first].address);
    cell(row, data.rows[loop.last].address);
    cell(row, number(loop.entered));
    cell(row, loop.least === loop.most ? number(loop.most) : `${number(loop.least)} to ${number(loop.most)}`);
    cell(row, loop.measured_iterations ? number(loop.cycles / loop.measured_iterations) : '-');
  }
  by('loops').append(table);
}

showHead();
showCode();
showFiles();
showArrows();
showLoops();
