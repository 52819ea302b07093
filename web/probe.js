'use strict';
// Source beside machine code. Clicking a line marks what belongs to it on the other side.
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const at = id => document.getElementById(id);
const timed = data.kernels.some(each => each.figures.some(figure => figure[2].ticks !== undefined));
const digits = value => value === undefined ? '' : String(value).replace(/\B(?=(\d{3})+$)/g, '\u2009');
const baseName = path => path.slice(path.lastIndexOf('/') + 1);

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

let kernel = null;
let figures = new Map();  // "code:site" -> figures
let byLine = new Map();   // "file:line" -> { sum, sites: [[code, site], ...] }

function fillSelect(select, names, change) {
  select.replaceChildren(...names.map(([value, text]) => {
    const option = make('option', '', text);
    option.value = value;
    return option;
  }));
  select.onchange = () => change(select.value);
}

function addUp(sum, more) {
  for (const key of Object.keys(more)) sum[key] = (sum[key] || 0) + more[key];
}

function prepare() {
  figures = new Map(kernel.figures.map(([code, site, of]) => [`${code}:${site}`, of]));
  byLine = new Map();
  for (const [code, site, of] of kernel.figures) {
    const listed = data.codes[code] && data.codes[code].sites[site];
    if (!listed || !listed.f.length) continue;
    const key = `${listed.f[listed.u][0]}:${listed.f[listed.u][1]}`;
    if (!byLine.has(key)) byLine.set(key, {sum: {}, sites: []});
    const line = byLine.get(key);
    addUp(line.sum, of);
    line.sites.push([code, site]);
  }
}

function row(className, of, most, address, text) {
  const line = make('tr', className);
  line.append(make('td', '', address));
  const count = make('td', 'heat', digits(of && of.count));
  count.style.setProperty('--part', `${of && most ? 100 * (of.count || 0) / most : 0}%`);
  line.append(count);
  const lines = of && of.lines !== undefined ? `${digits(of.lines)}/${digits(of.ideal)}` : '';
  line.append(make('td', of && of.lines > of.ideal ? 'bad' : '', lines));
  const lds = of && of.lds !== undefined ? `${digits(of.lds)}/${digits(of.lds_ideal)}` : '';
  line.append(make('td', of && of.lds > of.lds_ideal ? 'bad' : '', lds));
  line.append(make('td', of && of.parted ? 'bad' : '', digits(of && of.parted)));
  if (timed) line.append(make('td', '', digits(of && of.ticks)));
  line.append(make('td', 'text', text));
  return line;
}

function head(first, last) {
  const line = make('tr');
  for (const name of [first, 'executed', 'lines/needed', 'LDS/ideal', 'parted']) line.append(make('th', '', name));
  if (timed) line.append(make('th', '', 'ticks'));
  line.append(make('th', 'text', last));
  return line;
}

function mark(rows) {
  for (const old of document.querySelectorAll('tr.mark')) old.classList.remove('mark');
  for (const one of rows) if (one) one.classList.add('mark');
}

function showFile(file) {
  at('file').value = file;
  const lines = data.sources[file] || [];
  const table = at('source');
  table.replaceChildren(head('line', 'source'));
  const used = [...byLine.keys()].filter(key => key.startsWith(file + ':')).map(key => +key.slice(file.length + 1));
  const most = Math.max(0, ...[...byLine.values()].map(line => line.sum.count || 0));
  const numbers = lines.length ? lines.map((_, i) => i + 1) : used.sort((a, b) => a - b);
  for (const number of numbers) {
    const line = byLine.get(`${file}:${number}`);
    const made = row(line ? 'used' : '', line && line.sum, most, number, lines.length ? lines[number - 1] : '(source not found)');
    made.id = `s${number}`;
    if (line) made.onclick = () => {
      showFunction(line.sites[0][0]);
      const rows = line.sites.map(([code, site]) => at(`i${code}-${site}`));
      mark([made, ...rows]);
      const first = rows.find(one => one);
      if (first) first.scrollIntoView({block: 'center'});
    };
    table.append(made);
  }
}

function showFunction(code) {
  code = +code;
  at('function').value = code;
  const table = at('isa');
  if (table.dataset.code === String(code) && table.dataset.kernel === at('kernel').value) return;
  table.dataset.code = code;
  table.dataset.kernel = at('kernel').value;
  table.replaceChildren(head('address', 'instruction'));
  const of = data.codes[code];
  const blocks = new Set(of.blocks);
  const most = Math.max(0, ...of.sites.map((_, site) => (figures.get(`${code}:${site}`) || {}).count || 0));
  of.sites.forEach((listed, site) => {
    if (!listed.t) return;
    const made = row(listed.f.length ? 'used' : '', figures.get(`${code}:${site}`), most, listed.a, listed.t);
    made.id = `i${code}-${site}`;
    if (blocks.has(site)) made.classList.add('block');
    if (listed.f.length) {
      made.title = listed.f.map(([file, line, name]) => `${name || '?'} (${baseName(file)}:${line})`).join('\n');
      made.onclick = () => {
        showFile(listed.f[listed.u][0]);
        const line = at(`s${listed.f[listed.u][1]}`);
        mark([made, line]);
        if (line) line.scrollIntoView({block: 'center'});
      };
    }
    table.append(made);
  });
}

function showKernel(number) {
  kernel = data.kernels[+number];
  prepare();
  at('facts').textContent = `${kernel.model} (${kernel.target}, wave${kernel.wave_size}), dispatches: ${kernel.dispatches}`;
  at('reports').replaceChildren(...kernel.reports.map(report => make('pre', '', report.text)));
  at('heat').replaceChildren();
  if (kernel.heatmap) {
    const image = make('img');
    image.alt = 'accesses by page and time: loads blue, stores red, atomics green';
    image.title = image.alt;
    image.src = 'data:image/png;base64,' + kernel.heatmap;
    at('heat').append(image);
  }
  const codes = [...new Set(kernel.figures.map(([code]) => code))];
  fillSelect(at('function'), codes.map(code => [code, data.codes[code].function || `code ${code}`]), showFunction);
  const files = [...new Set([...byLine.keys()].map(key => key.slice(0, key.lastIndexOf(':'))))];
  fillSelect(at('file'), files.map(file => [file, baseName(file)]), showFile);
  at('isa').replaceChildren();
  at('source').replaceChildren();
  if (codes.length) showFunction(codes[0]);
  const hottest = [...byLine].sort((a, b) => (b[1].sum.count || 0) - (a[1].sum.count || 0))[0];
  if (hottest) showFile(hottest[0].slice(0, hottest[0].lastIndexOf(':')));
  else at('source').append(make('caption', '', 'No source lines are known; compile with -g or -gline-tables-only.'));
}

fillSelect(at('kernel'), data.kernels.map((one, i) => [i, one.kernel]), showKernel);
if (data.kernels.length) showKernel(0);
else at('reports').append(make('pre', '', data.all));
})();
