// What the parts of the page share: elements, numbers as a person reads them, colours, a canvas that
// draws once per frame.
//
// The parts are base.js, data.js, timeline.js, flame.js, tables.js and main.js, joined in that order
// into one script when wavetap is built. No network, no libraries.

const $ = (id) => document.getElementById(id);

const element = (tag, cls, text) => {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text !== undefined) node.textContent = text;
  return node;
};

// --- Numbers. Units are those of analysis::Unit.

const nsText = (ns) => {
  const size = Math.abs(ns);
  if (size < 1e3) return ns.toFixed(0) + ' ns';
  if (size < 1e6) return (ns / 1e3).toFixed(2) + ' µs';
  if (size < 1e9) return (ns / 1e6).toFixed(2) + ' ms';
  return (ns / 1e9).toFixed(3) + ' s';
};

const bytesText = (bytes) => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; bytes >= 1023.95 && unit + 1 < units.length; ++unit) bytes /= 1024;
  return (unit ? bytes.toFixed(1) : bytes.toFixed(0)) + ' ' + units[unit];
};

// 1234567 -> "1 234 567"
const countText = (count) => count.toFixed(0).replace(/\B(?=(\d{3})+$)/g, '\u202f');

const plural = (count, noun) => countText(count) + ' ' + noun + (count === 1 ? '' : 's');

const cellText = (value, unit) => {
  if (value === null) return '–';
  switch (unit) {
    case 'ns': case 'time': return nsText(value);
    case 'bytes': return bytesText(value);
    case 'share': return (value * 100).toFixed(1) + ' %';
    case 'rate': return value.toFixed(2) + ' GB/s';
    case 'number': return Number(value.toPrecision(3)).toString();
    case 'count': return countText(value);
    default: return String(value);
  }
};

// --- Colours: those of the style sheet for the scheme in force, and one for each name.

const scheme = matchMedia('(prefers-color-scheme: dark)');
let theme = null;

const readTheme = () => {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue('--' + name).trim();
  theme = {
    dark: scheme.matches, back: value('bg'), line: value('line'), dim: value('dim'), accent: value('accent'),
    ink: value('ink'), faint: value('faint'), names: new Map(),
  };
};

// The hue follows from the name's characters, so that it stays from page to page.
const nameColour = (name) => {
  let found = theme.names.get(name);
  if (found === undefined) {
    let hash = 2166136261;
    for (const c of data.names[name]) hash = Math.imul(hash ^ c.codePointAt(0), 16777619);
    hash = Math.imul(hash ^ (hash >>> 15), 2246822519);
    const hue = (hash >>> 0) % 360, soft = (hash >>> 9) % 3 * 4;
    found = theme.dark ? rgb(hue, 46 - soft, 43) : rgb(hue, 62 - soft, 73);
    theme.names.set(name, found);
  }
  return found;
};

// As 0xBBGGRR, the order of bytes in a canvas' pixels.
const rgb = (hue, saturation, lightness) => {
  const l = lightness / 100, a = saturation / 100 * Math.min(l, 1 - l);
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return part(0) | part(8) << 8 | part(4) << 16;
};

const cssColour = (bgr) => `rgb(${bgr & 255} ${bgr >> 8 & 255} ${bgr >> 16 & 255})`;

// '#rrggbb' of the style sheet as pixels have it.
const pixelColour = (css) => {
  const value = parseInt(css.slice(1), 16);
  return (value & 255) << 16 | (value & 0xff00) | value >> 16;
};

// --- A canvas in a box that scrolls. The canvas covers what is seen of the box and stays there; `draw`
// is told where in the whole it is.

const surface = (box, draw) => {
  const canvas = box.querySelector('canvas'), tall = box.querySelector('.tall');
  const state = { box, canvas, width: 0, height: 0, ratio: 1, wanted: false, frames: 0, spent: 0 };
  state.paint = () => {
    state.wanted = false;
    const begin = performance.now();
    state.ratio = devicePixelRatio || 1;
    state.width = box.clientWidth;
    state.height = box.clientHeight;
    const wide = Math.round(state.width * state.ratio), high = Math.round(state.height * state.ratio);
    if (canvas.width !== wide || canvas.height !== high) {
      canvas.width = wide;
      canvas.height = high;
      canvas.style.width = state.width + 'px';
      canvas.style.height = state.height + 'px';
    }
    const g = canvas.getContext('2d', { alpha: false });
    g.setTransform(state.ratio, 0, 0, state.ratio, 0, 0);
    g.font = '11.5px system-ui, sans-serif';
    g.textBaseline = 'middle';
    g.fillStyle = theme.back;
    g.fillRect(0, 0, state.width, state.height);
    draw(g, state.width, state.height, box.scrollTop);
    state.spent = performance.now() - begin;
    ++state.frames;
  };
  state.redraw = () => {
    if (!state.wanted) {
      state.wanted = true;
      requestAnimationFrame(state.paint);
    }
  };
  // How high the whole is; the box shows as much of it as the style sheet lets it.
  state.setHeight = (height) => {
    tall.style.height = height + 'px';
    state.redraw();
  };
  box.addEventListener('scroll', state.redraw);
  addEventListener('resize', state.redraw);
  scheme.addEventListener('change', state.redraw);
  return state;
};

// --- Texts in boxes.

const textWidths = new Map();
const textWidth = (g, text) => {
  let width = textWidths.get(text);
  if (width === undefined) textWidths.set(text, width = g.measureText(text).width);
  return width;
};

// As much of the text as there is room for, or nothing.
const fitted = (g, text, room) => {
  const width = textWidth(g, text);
  if (width <= room) return text;
  for (let keep = Math.floor(text.length * room / width); keep > 1; --keep) {
    const part = text.slice(0, keep) + '…';
    if (textWidth(g, part) <= room) return part;
  }
  return '';
};

// --- The box beside the pointer.

const showTip = (event, lines) => {
  const tip = $('tip');
  if (!lines) {
    tip.hidden = true;
    return;
  }
  tip.replaceChildren(...lines.map((line, i) => element('div', i ? '' : 'first', line)));
  tip.hidden = false;
  tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = Math.max(0, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)) + 'px';
};
