// The timeline: a track per queue and thread, rows of items below each other, time to the right.
//
// A frame costs the same however many items there are. Each row is drawn pixel by pixel into a line of a
// small picture: an item that is a few pixels wide or more has its own colour, several within one pixel
// show that of the longest, the stronger the more of the pixel's time they cover. How many items a
// pixel holds is found by searching the starts, the longest of them by Row.longest(). Then each line is
// stretched to its row's height, and texts are written upon those that have room for one.

const kRowHeight = 17, kBarHeight = 15, kTrackGap = 9, kLabelWidth = 148, kAxisHeight = 24;
const kTextRoom = 30;        // narrower boxes have no text
const kLeastView = 20;       // ns
const kOwnBox = 2;           // pixels from which an item is drawn by itself

// How tracks lie below each other; a folded one shows its first row only.
class Layout {
  constructor(tracks) {
    this.tracks = tracks;
    this.rows = [];  // of all tracks
    for (const track of tracks) {
      track.first = this.rows.length;
      track.folded = false;
      for (const row of track.rows) this.rows.push(row);
    }
    this.place();
  }

  place() {
    let y = kAxisHeight + 4;
    for (const track of this.tracks) {
      track.y = y;
      track.shown = track.folded ? 1 : track.rows.length;
      y += track.shown * kRowHeight + kTrackGap;
    }
    this.height = y;
  }

  // Rows between two heights: [number of the row, its top].
  between(top, bottom) {
    const out = [];
    for (const track of this.tracks) {
      if (track.y > bottom) break;
      const first = Math.max(0, Math.floor((top - track.y) / kRowHeight));
      for (let i = first; i < track.shown; ++i) {
        const y = track.y + i * kRowHeight;
        if (y > bottom) break;
        out.push([track.first + i, y]);
      }
    }
    return out;
  }

  trackAt(y) {
    return this.tracks.find((track) => y >= track.y - kTrackGap / 2 && y < track.y + track.shown * kRowHeight + kTrackGap / 2);
  }

  // Row at a height, or -1.
  rowAt(y) {
    const track = this.trackAt(y);
    const i = track ? Math.floor((y - track.y) / kRowHeight) : -1;
    return i >= 0 && i < track.shown ? track.first + i : -1;
  }

  trackOf(row) {
    return this.tracks.find((track) => row >= track.first && row < track.first + track.rows.length);
  }

  yOf(row) {
    const track = this.trackOf(row);
    return track.y + (track.folded ? 0 : row - track.first) * kRowHeight;
  }
}

// The small picture: a line of pixels for each row that is seen.
class Strip {
  constructor() {
    this.canvas = document.createElement('canvas');
    this.context = this.canvas.getContext('2d', { willReadFrequently: true });
    this.image = null;
  }

  resize(width, lines) {
    if (!this.image || this.image.width !== width || this.image.height < lines) {
      this.canvas.width = width;
      this.canvas.height = lines;
      this.image = this.context.createImageData(width, lines);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(0);
  }

  line(i) {
    return this.pixels.subarray(i * this.image.width, (i + 1) * this.image.width);
  }
}

const kOpaque = 0xff000000;

// Colours one row's pixels for the time from view.from on, `scale` pixels a nanosecond. Calls
// `own(left, right, name, dim)` for boxes at least `room` wide. Returns how many boxes it coloured.
const paintRow = (row, line, view, scale, room, own) => {
  const width = line.length, { start, end, name } = row;
  const faint = pixelColour(theme.faint) | kOpaque;
  let boxes = 0;
  for (let i = row.endingAfter(view.from); i < row.count && start[i] < view.to; ++boxes) {
    const left = (start[i] - view.from) * scale, right = (end[i] - view.from) * scale;
    if (right - left >= kOwnBox) {
      const dim = search.hit !== null && !search.hit[name[i]];
      const from = Math.max(0, Math.floor(left));
      // A gap tells neighbours apart.
      const to = Math.min(width, Math.max(from + 1, Math.floor(right) - (right - left > 4 ? 1 : 0)));
      line.fill(dim ? faint : nameColour(name[i]) | kOpaque, from, to);
      if (to - from >= room) own(from, to, name[i], dim);
      ++i;
      continue;
    }
    // All that begin within this pixel; only the last of them can reach beyond it.
    const pixel = Math.max(0, Math.floor(left));
    let next = row.starting(view.from + (pixel + 1) / scale, i + 1);
    if (next - i > 1 && (end[next - 1] - start[next - 1]) * scale >= kOwnBox) --next;
    if (pixel < width) line[pixel] = pixelOf(row, i, next, scale, faint);
    i = next;
  }
  return boxes;
};

// The pixel of items [begin, end): the first that is searched for or, while nothing is, the longest.
const pixelOf = (row, begin, end, scale, faint) => {
  if (search.hit !== null) {
    const match = matchFrom(row, begin);
    const found = match < row.matches.length && row.matches[match] < end;
    return found ? (nameColour(row.name[row.matches[match]]) | kOpaque) >>> 0 : faint;
  }
  const alpha = Math.round(90 + 165 * Math.min(1, row.length(begin, end) * scale));
  return (alpha << 24 | nameColour(row.name[row.longest(begin, end)])) >>> 0;
};

class Timeline {
  constructor(box, tracks) {
    this.layout = new Layout(tracks);
    this.rows = this.layout.rows;
    this.strip = new Strip();
    this.span = Math.max(1, data.span);
    this.view = { from: 0, to: this.span };
    this.selected = null;  // {row, item}
    this.dragged = null;   // part of the axis, in pixels: {from, to}
    this.onSelect = () => {};
    this.stats = { boxes: 0, texts: 0, rows: 0, pixels: 0 };
    this.surface = surface(box, (g, width, height, scroll) => this.draw(g, width, height, scroll));
    this.surface.setHeight(this.layout.height);
    this.show(0, this.span);
  }

  // --- Drawing.

  draw(g, width, height, scroll) {
    const rows = this.layout.between(scroll + kAxisHeight - kRowHeight, scroll + height);
    const texts = this.paintStrip(rows, Math.max(1, width - kLabelWidth));
    this.drawAxis(g, width, height);
    g.save();
    g.beginPath();
    g.rect(0, kAxisHeight, width, height - kAxisHeight);
    g.clip();
    g.imageSmoothingEnabled = false;
    const { canvas, image } = this.strip;
    rows.forEach(([, y], line) => {
      g.drawImage(canvas, 0, line, image.width, 1, kLabelWidth, y - scroll, width - kLabelWidth, kBarHeight);
    });
    for (const { left, right, name, dim, y } of texts) {
      const text = fitted(g, data.names[name], right - left - 8);
      g.fillStyle = dim ? theme.dim : theme.ink;
      if (text) g.fillText(text, kLabelWidth + left + 4, y - scroll + kBarHeight / 2 + 0.5);
    }
    this.drawLabels(g, scroll, height);
    if (this.selected) this.drawSelected(g, width, scroll);
    g.restore();
    if (this.dragged) this.drawDragged(g, height);
  }

  // Colours the lines of all rows in sight; returns the boxes that have room for a text.
  paintStrip(rows, room) {
    const { ratio } = this.surface, pixels = Math.max(1, Math.round(room * ratio));
    const scale = pixels / (this.view.to - this.view.from), texts = [];
    let boxes = 0;
    this.strip.resize(pixels, Math.max(1, rows.length));
    rows.forEach(([number, y], line) => {
      boxes += paintRow(this.rows[number], this.strip.line(line), this.view, scale, kTextRoom * ratio,
        (left, right, name, dim) => texts.push({ left: left / ratio, right: right / ratio, name, dim, y }));
    });
    this.strip.context.putImageData(this.strip.image, 0, 0);
    this.stats = { boxes, texts: texts.length, rows: rows.length, pixels };
    return texts;
  }

  drawAxis(g, width, height) {
    const { from, to } = this.view, scale = (width - kLabelWidth) / (to - from);
    // Steps of 1, 2 or 5 times a power of ten, about 110 pixels apart.
    const raw = 110 / scale, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1);
    let taken = -Infinity;
    g.strokeStyle = theme.line;
    g.fillStyle = theme.dim;
    g.beginPath();
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const x = Math.round(kLabelWidth + (time - from) * scale) + 0.5, text = nsText(time);
      g.moveTo(x, kAxisHeight - 6);
      g.lineTo(x, height);
      // The last one stands to the left of its line where there is no room to the right.
      const wide = textWidth(g, text) + 8, at = x + wide <= width ? x + 4 : x - wide + 4;
      if (at > taken) g.fillText(text, at, kAxisHeight / 2);
      taken = at + wide;
    }
    g.stroke();
  }

  drawLabels(g, scroll, height) {
    g.fillStyle = theme.dim;
    for (const track of this.layout.tracks) {
      const top = track.y - scroll, bottom = top + track.shown * kRowHeight;
      if (bottom < kAxisHeight || top > height) continue;
      // A label stays in sight as long as any of its track does.
      const at = Math.max(top, Math.min(kAxisHeight + 2, bottom - kRowHeight)) + kBarHeight / 2;
      const sign = track.rows.length > 1 ? (track.folded ? '▸ ' : '▾ ') : '';
      g.fillText(fitted(g, sign + track.name, kLabelWidth - 14), 8, at);
    }
  }

  drawSelected(g, width, scroll) {
    const { row, item } = this.selected, y = this.layout.yOf(row) - scroll;
    const left = this.xOf(this.rows[row].start[item]), right = Math.max(left + 3, this.xOf(this.rows[row].end[item]));
    if (right < kLabelWidth || left > width) return;
    const from = Math.max(kLabelWidth - 2, left - 1), to = Math.min(width + 2, right + 1);
    g.strokeStyle = theme.accent;
    g.lineWidth = 2;
    g.strokeRect(from, y - 1, to - from, kBarHeight + 2);
    g.lineWidth = 1;
  }

  drawDragged(g, height) {
    const { from, to } = this.dragged;
    g.fillStyle = theme.accent;
    g.globalAlpha = 0.25;
    g.fillRect(Math.min(from, to), 0, Math.abs(to - from), height);
    g.globalAlpha = 1;
  }

  // --- Moving about.

  show(from, to) {
    const length = Math.min(this.span, Math.max(kLeastView, to - from));
    from = Math.min(Math.max(0, from), this.span - length);
    Object.assign(this.view, { from, to: from + length });
    $('range').textContent = nsText(from) + ' – ' + nsText(from + length) + ' (' + nsText(length) + ')';
    this.surface.redraw();
  }

  showAll() {
    this.show(0, this.span);
  }

  zoom(at, factor) {
    const { from, to } = this.view;
    this.show(at - (at - from) * factor, at + (to - at) * factor);
  }

  // By a share of what is seen.
  move(share) {
    const { from, to } = this.view, by = share * (to - from);
    this.show(from + by, to + by);
  }

  middle() {
    return (this.view.from + this.view.to) / 2;
  }

  // Nanoseconds a pixel.
  pixel() {
    return (this.view.to - this.view.from) / Math.max(1, this.surface.width - kLabelWidth);
  }

  timeAt(x) {
    return this.view.from + (x - kLabelWidth) * this.pixel();
  }

  xOf(time) {
    return kLabelWidth + (time - this.view.from) / this.pixel();
  }

  // Brings an item into sight, wide enough to be seen.
  reveal({ row: number, item }) {
    const row = this.rows[number], track = this.layout.trackOf(number);
    if (track.folded && number > track.first) this.fold(track);
    const begin = row.start[item], end = row.end[item], length = end - begin;
    const seen = this.view.to - this.view.from;
    if (length < 3 * this.pixel() || length > seen) this.show(begin - length * 10 - 10, end + length * 10 + 10);
    else if (begin < this.view.from || end > this.view.to) this.show(begin - (seen - length) / 2, end + (seen - length) / 2);
    const { box } = this.surface, y = this.layout.yOf(number);
    if (y < box.scrollTop + kAxisHeight || y + kRowHeight > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
  }

  fold(track) {
    track.folded = !track.folded;
    this.layout.place();
    this.surface.setHeight(this.layout.height);
  }

  // --- Items.

  itemAt(x, y) {
    const number = x >= kLabelWidth && y >= kAxisHeight ? this.layout.rowAt(y + this.surface.box.scrollTop) : -1;
    if (number < 0) return null;
    const row = this.rows[number], slack = 2 * this.pixel(), time = this.timeAt(x);
    const item = row.endingAfter(time - slack);
    return item < row.count && row.start[item] <= time + slack ? { row: number, item } : null;
  }

  trackAt(x, y) {
    return x < kLabelWidth && y > kAxisHeight ? this.layout.trackAt(y + this.surface.box.scrollTop) : undefined;
  }

  describe({ row: number, item }) {
    const row = this.rows[number], name = row.name[item];
    const lines = [data.names[name], nsText(row.end[item] - row.start[item]) + ' at ' + nsText(row.start[item]), this.layout.trackOf(number).name];
    if (data.full[name]) lines.push(data.full[name]);
    return lines;
  }

  select(item) {
    this.selected = item;
    $('detail').textContent = item ? this.describe(item).slice(0, 3).join(' · ') : '';
    this.onSelect();
    this.surface.redraw();
  }

  // Fills the view with an item.
  fill({ row: number, item }) {
    const row = this.rows[number], length = row.end[item] - row.start[item];
    this.show(row.start[item] - length * 0.2, row.end[item] + length * 0.2);
  }
}

// --- Input.

const listenToWheel = (timeline) => {
  const { box, canvas } = timeline.surface;
  box.addEventListener('wheel', (e) => {
    if (e.altKey) return;  // scrolls the tracks
    e.preventDefault();
    const x = e.clientX - canvas.getBoundingClientRect().left;
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) timeline.move((e.deltaX || e.deltaY) / 600);
    else timeline.zoom(timeline.timeAt(Math.max(kLabelWidth, x)), Math.exp(e.deltaY / 400));
  }, { passive: false });
};

const listenToPointer = (timeline) => {
  const { box, canvas } = timeline.surface;
  let drag = null;
  const place = (e) => {
    const frame = canvas.getBoundingClientRect();
    return { x: e.clientX - frame.left, y: e.clientY - frame.top };
  };
  canvas.addEventListener('pointerdown', (e) => {
    if (e.button !== 0) return;
    const { x, y } = place(e);
    drag = { x, y, scroll: box.scrollTop, ...timeline.view, moved: false };
    if (y < kAxisHeight && x > kLabelWidth) timeline.dragged = { from: x, to: x };
    canvas.setPointerCapture(e.pointerId);
    box.focus({ preventScroll: true });
  });
  canvas.addEventListener('pointermove', (e) => {
    const { x, y } = place(e);
    if (!drag) return hover(timeline, e, x, y);
    drag.moved = drag.moved || Math.hypot(x - drag.x, y - drag.y) > 3;
    if (!drag.moved) return;
    showTip(e, null);
    if (timeline.dragged) {
      timeline.dragged.to = Math.max(kLabelWidth, Math.min(timeline.surface.width, x));
      timeline.surface.redraw();
    } else {
      const by = (drag.x - x) * timeline.pixel();
      timeline.show(drag.from + by, drag.to + by);
      box.scrollTop = drag.scroll + drag.y - y;
    }
  });
  const end = (e) => {
    const { x, y } = place(e), was = drag, range = timeline.dragged;
    drag = timeline.dragged = null;
    timeline.surface.redraw();
    if (!was || e.type === 'pointercancel') return;
    if (range && was.moved) timeline.show(timeline.timeAt(Math.min(range.from, range.to)), timeline.timeAt(Math.max(range.from, range.to)));
    else if (!was.moved) click(timeline, x, y);
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
  canvas.addEventListener('pointerleave', (e) => showTip(e, null));
  canvas.addEventListener('dblclick', (e) => {
    const { x, y } = place(e), item = timeline.itemAt(x, y);
    if (item) timeline.fill(item);
  });
};

const hover = (timeline, event, x, y) => {
  const item = timeline.itemAt(x, y), track = timeline.trackAt(x, y);
  if (item) return showTip(event, timeline.describe(item));
  const items = track ? track.rows.reduce((sum, row) => sum + row.count, 0) : 0;
  showTip(event, track ? [track.name, plural(items, 'item')] : null);
};

const click = (timeline, x, y) => {
  const track = timeline.trackAt(x, y);
  if (track && track.rows.length > 1) timeline.fold(track);
  else timeline.select(timeline.itemAt(x, y));
};

const listenToKeys = (timeline) => {
  const nearer = () => timeline.zoom(timeline.middle(), 0.7), further = () => timeline.zoom(timeline.middle(), 1 / 0.7);
  const earlier = () => timeline.move(-0.2), later = () => timeline.move(0.2), all = () => timeline.showAll();
  const keys = {
    w: nearer, '+': nearer, s: further, '-': further, a: earlier, ArrowLeft: earlier, d: later, ArrowRight: later, 0: all, Home: all,
    f: () => timeline.selected && timeline.fill(timeline.selected), Escape: () => timeline.select(null),
  };
  timeline.surface.box.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
};

// --- Search: how many items match, and going from one to the next.

class Matches {
  constructor(timeline) {
    this.timeline = timeline;
    this.total = 0;
    timeline.onSelect = () => this.showCount();
  }

  update() {
    this.total = findMatches(this.timeline.rows);
    this.showCount();
    this.timeline.surface.redraw();
  }

  showCount() {
    const { rows, selected } = this.timeline, total = countText(this.total) + (this.total === 1 ? ' match' : ' matches');
    const at = search.hit && selected && isHit(rows[selected.row].name[selected.item]) ? matchesBefore(rows, selected, true) : 0;
    $('count').textContent = !search.hit ? '' : at ? countText(at) + ' of ' + total : total;
  }

  // To the next match, or the one before; past the last the first comes again.
  step(backwards) {
    if (!search.hit || !this.total) return;
    const { rows, view, selected } = this.timeline;
    const from = selected || { time: backwards ? view.to : view.from };
    const found = nextMatch(rows, from, backwards) || nextMatch(rows, { time: backwards ? Infinity : 0 }, backwards);
    this.timeline.select({ row: found.row, item: found.item });
    this.timeline.reveal(this.timeline.selected);
  }
}

const startTimeline = (tracks) => {
  const timeline = new Timeline($('timeline'), tracks);
  listenToWheel(timeline);
  listenToPointer(timeline);
  listenToKeys(timeline);
  $('reset').addEventListener('click', () => timeline.showAll());
  return timeline;
};
