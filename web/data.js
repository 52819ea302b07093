// The data wavetap put into the page, and what is asked of it.
//
// A JSON object holds texts, tables and flame graphs. The timeline's items are packed beside it: varints
// (seven bits a byte, lowest first, the high bit says that more follow), compressed with gzip, in base64.
// For each row of each track in turn: the distance of each start from the one before, then the lengths,
// then the names' numbers.

const data = JSON.parse($('data').textContent);

// The packed bytes; the page keeps no second copy of them.
const unpack = async () => {
  const text = $('packed').textContent;
  $('packed').textContent = '';
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

// Reads varints one after another.
class Varints {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f, scale = 128;
    do {
      byte = bytes[this.at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    return value;
  }
}

// Items beside each other: neither their starts nor their ends go back from one to the next.
class Row {
  constructor(start, end, name) {
    this.start = start;
    this.end = end;
    this.name = name;
    this.count = start.length;
    this.levels = null;   // longest of every 8 items, of every 64, …
    this.sums = null;     // of the lengths of all items before each
    this.matches = null;  // items whose name is searched for
  }

  // First item, of those from `low` on, that begins at `time` or later.
  starting(time, low = 0) {
    const start = this.start;
    // Near ones first: a frame asks for many in a row.
    let step = 1;
    while (low + step < this.count && start[low + step] < time) {
      low += step;
      step *= 2;
    }
    let high = Math.min(this.count, low + step);
    while (low < high) {
      const mid = (low + high) >> 1;
      if (start[mid] < time) low = mid + 1; else high = mid;
    }
    return low;
  }

  // First item that ends after `time`.
  endingAfter(time) {
    let low = 0, high = this.count;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.end[mid] <= time) low = mid + 1; else high = mid;
    }
    return low;
  }

  // The longest item of [begin, end).
  longest(begin, end) {
    if (end - begin === 1) return begin;
    if (!this.levels) this.build();
    const { start, end: ends } = this;
    let best = begin, length = -1;
    const take = (item) => {
      const of = ends[item] - start[item];
      if (of > length) {
        length = of;
        best = item;
      }
    };
    // Whole blocks from their level, what is left at both sides from the one below.
    for (let level = 0; begin < end; ++level) {
      const winners = level ? this.levels[level - 1] : null;
      for (; begin < end && begin & 7; ++begin) take(winners ? winners[begin] : begin);
      for (; begin < end && end & 7; --end) take(winners ? winners[end - 1] : end - 1);
      begin >>= 3;
      end >>= 3;
    }
    return best;
  }

  // Time that the items of [begin, end) take together.
  length(begin, end) {
    if (!this.sums) this.build();
    return this.sums[end] - this.sums[begin];
  }

  // What takes its time is done for rows that have been seen only.
  build() {
    const { start, end } = this;
    this.sums = new Float64Array(this.count + 1);
    for (let i = 0; i < this.count; ++i) this.sums[i + 1] = this.sums[i] + (end[i] - start[i]);
    this.levels = [];
    for (let size = this.count, below = null; size > 1;) {
      const blocks = (size + 7) >> 3, winners = new Uint32Array(blocks);
      for (let block = 0; block < blocks; ++block) {
        let best = -1, length = -1;
        for (let i = block * 8, last = Math.min(size, i + 8); i < last; ++i) {
          const item = below ? below[i] : i, of = end[item] - start[item];
          if (of > length) {
            length = of;
            best = item;
          }
        }
        winners[block] = best;
      }
      this.levels.push(winners);
      below = winners;
      size = blocks;
    }
  }
}

// Tracks with their rows: {name, queue, rows}.
const readTracks = (bytes) => {
  const varints = new Varints(bytes);
  return data.tracks.map((track) => ({
    name: track.name,
    queue: track.queue,
    rows: track.rows.map((count) => {
      const start = new Float64Array(count), end = new Float64Array(count), name = new Uint32Array(count);
      for (let i = 0, time = 0; i < count; ++i) start[i] = time += varints.next();
      for (let i = 0; i < count; ++i) end[i] = start[i] + varints.next();
      for (let i = 0; i < count; ++i) name[i] = varints.next();
      return new Row(start, end, name);
    }),
  }));
};

// --- Search.

// The text looked for, in lower case, and which names have it; nothing while nothing is looked for.
const search = { text: '', hit: null };

const startSearch = (text) => {
  search.text = text.trim().toLowerCase();
  search.hit = null;
  if (!search.text) return;
  search.hit = new Uint8Array(data.names.length);
  data.names.forEach((name, i) => {
    const full = data.full[i];
    if (name.toLowerCase().includes(search.text) || (full && full.toLowerCase().includes(search.text))) search.hit[i] = 1;
  });
};

const isHit = (name) => search.hit !== null && search.hit[name] === 1;

// Fills in the matches of every row; returns how many there are.
const findMatches = (rows) => {
  let total = 0;
  for (const row of rows) {
    row.matches = null;
    if (!search.hit) continue;
    let count = 0;
    for (let i = 0; i < row.count; ++i) count += search.hit[row.name[i]];
    row.matches = new Uint32Array(count);
    for (let i = 0, at = 0; at < count; ++i) if (search.hit[row.name[i]]) row.matches[at++] = i;
    total += count;
  }
  return total;
};

// Index of the first match of the row that is item `item` or a later one.
const matchFrom = (row, item) => {
  let low = 0, high = row.matches.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (row.matches[mid] < item) low = mid + 1; else high = mid;
  }
  return low;
};

// Matches are in order of start, then row, then item. `at` is {row, item} or, to begin with, {time}.
// How many come before `at`, and with `including` also at it.
const matchesBefore = (rows, at, including) => {
  let before = 0;
  rows.forEach((row, number) => { before += matchIndex(row, number, rows, at, including); });
  return before;
};

const matchIndex = (row, number, rows, at, including) => {
  if (at.time !== undefined) return matchFrom(row, row.starting(at.time));
  if (number === at.row) return matchFrom(row, at.item + (including ? 1 : 0));
  const time = rows[at.row].start[at.item];
  // Of rows further up, those that begin at the same time come first.
  let item = row.starting(time);
  if (number < at.row) while (item < row.count && row.start[item] === time) ++item;
  return matchFrom(row, item);
};

// The match after `at`, or before it; nothing when there is none.
const nextMatch = (rows, at, backwards) => {
  let best = null;
  rows.forEach((row, number) => {
    const index = matchIndex(row, number, rows, at, !backwards) - (backwards ? 1 : 0);
    if (index < 0 || index >= row.matches.length) return;
    const item = row.matches[index], time = row.start[item];
    const better = best === null || (backwards ? time >= best.time : time < best.time);
    if (better) best = { row: number, item, time };
  });
  return best;
};
