// The page's own code: summary tables, a zoomable timeline and a flame graph, drawn from the data that
// wavetap put into the page. No network, no libraries.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const $ = (id) => document.getElementById(id);
  const el = (tag, cls, text) => {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const ns = (v) => {
    const a = Math.abs(v);
    if (a < 1e3) return v.toFixed(0) + ' ns';
    if (a < 1e6) return (v / 1e3).toFixed(2) + ' µs';
    if (a < 1e9) return (v / 1e6).toFixed(2) + ' ms';
    return (v / 1e9).toFixed(3) + ' s';
  };
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // A colour that stays with a name: hue from its characters, strength from the scheme.
  const hues = new Map();
  const colour = (index) => {
    if (!hues.has(index)) {
      let hash = 2166136261;
      for (const c of data.names[index]) hash = Math.imul(hash ^ c.codePointAt(0), 16777619);
      hues.set(index, (hash >>> 0) % 360);
    }
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    return `hsl(${hues.get(index)} ${dark ? '45% 42%' : '58% 72%'})`;
  };

  // --- Summary.
  const summary = () => {
    $('path').textContent = data.path;
    for (const warning of data.warnings) $('banners').append(el('div', 'banner', warning));
    for (const fact of data.facts) {
      const box = el('div', fact.text.length > 24 ? 'fact wide' : 'fact');
      box.append(el('b', '', fact.text), el('span', 'dim', fact.title));
      $('facts').append(box);
    }
    for (const table of data.tables) {
      $('tables').append(el('h2', '', table.title));
      const wrap = el('div', 'scroll'), t = el('table'), head = el('tr');
      table.columns.forEach((c) => head.append(el('th', c.name ? 'name' : '', c.title)));
      t.append(head);
      for (const row of table.rows) {
        const tr = el('tr');
        row.forEach((cell, i) => {
          const column = table.columns[i];
          if (column.bar) {
            const td = el('td', 'bar'), bar = el('i');
            bar.style.width = Math.max(0, Math.min(1, cell)) * 100 + '%';
            td.append(bar);
            tr.append(td);
          } else {
            const td = el('td', column.name ? 'name' : '', cell[0]);
            if (column.name) td.title = cell[1];
            tr.append(td);
          }
        });
        t.append(tr);
      }
      wrap.append(t);
      $('tables').append(wrap);
    }
  };

  // --- A canvas that knows the device's pixels and redraws once per frame.
  const surface = (canvas, height, draw) => {
    const state = { width: 0, height, wanted: false };
    const paint = () => {
      state.wanted = false;
      const ratio = devicePixelRatio || 1;
      state.width = canvas.clientWidth;
      canvas.style.height = state.height + 'px';
      canvas.width = Math.round(state.width * ratio);
      canvas.height = Math.round(state.height * ratio);
      const g = canvas.getContext('2d');
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      g.font = '11.5px system-ui, sans-serif';
      g.textBaseline = 'middle';
      draw(g, state.width, state.height);
    };
    state.redraw = () => {
      if (!state.wanted) {
        state.wanted = true;
        requestAnimationFrame(paint);
      }
    };
    addEventListener('resize', state.redraw);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', state.redraw);
    paint();
    return state;
  };
  const tip = (event, lines) => {
    const box = $('tip');
    if (!lines) {
      box.style.display = 'none';
      return;
    }
    box.replaceChildren(...lines.map((line, i) => {
      const div = el('div', '', line);
      if (i === 0) div.style.fontWeight = 600;
      return div;
    }));
    box.style.display = 'block';
    box.style.left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8) + 'px';
    box.style.top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8) + 'px';
  };
  const fitted = (g, text, room) => {
    if (room < 18) return '';
    if (g.measureText(text).width <= room) return text;
    let keep = Math.floor(text.length * room / g.measureText(text).width) - 1;
    return keep > 1 ? text.slice(0, keep) + '…' : '';
  };

  // --- Timeline. Each track is rows (depths) of [start, duration, name, …] sorted by start.
  const kRow = 17, kTrackGap = 8, kLabel = 130, kAxis = 22;
  const timeline = () => {
    const canvas = $('timeline');
    const span = Math.max(1, data.span);
    let view = { from: 0, to: span };
    let needle = '';
    let drawn = 0;
    const tracks = data.tracks.map((t) => ({ name: t.name, rows: t.rows }));
    let y = kAxis + 4;
    for (const track of tracks) {
      track.y = y;
      y += track.rows.length * kRow + kTrackGap;
    }
    const height = Math.max(90, y);
    const first = (row, time) => {  // first event that ends after `time`; rows do not overlap themselves
      let low = 0, high = row.length / 3;
      while (low < high) {
        const mid = (low + high) >> 1;
        if (row[3 * mid] + row[3 * mid + 1] < time) low = mid + 1; else high = mid;
      }
      return low;
    };
    const draw = (g, width) => {
      drawn = 0;
      g.fillStyle = style('--bg');
      g.fillRect(0, 0, width, height);
      const room = width - kLabel, scale = room / (view.to - view.from);
      const x = (t) => kLabel + (t - view.from) * scale;
      // Axis: steps of 1, 2 or 5 times a power of ten, about 110 pixels apart.
      const raw = 110 / scale, power = 10 ** Math.floor(Math.log10(raw));
      const step = power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1);
      g.strokeStyle = style('--line');
      g.fillStyle = style('--dim');
      for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
        g.beginPath();
        g.moveTo(x(t), kAxis);
        g.lineTo(x(t), height);
        g.stroke();
        g.fillText(ns(t), x(t) + 3, kAxis / 2);
      }
      const ink = matchMedia('(prefers-color-scheme: dark)').matches ? '#fff' : '#111';
      for (const track of tracks) {
        g.fillStyle = style('--dim');
        g.fillText(fitted(g, track.name, kLabel - 12), 8, track.y + kRow / 2);
        g.save();
        g.beginPath();
        g.rect(kLabel, 0, room, height);
        g.clip();
        track.rows.forEach((row, depth) => {
          const top = track.y + depth * kRow;
          let painted = -1;  // right edge of what is already coloured, in pixels
          for (let i = first(row, view.from); 3 * i < row.length && row[3 * i] <= view.to; ++i) {
            const left = x(row[3 * i]), right = Math.max(left + 1, x(row[3 * i] + row[3 * i + 1]));
            const hit = needle && data.names[row[3 * i + 2]].toLowerCase().includes(needle);
            if (right <= painted && !hit) continue;  // several events in one pixel: one stands for all
            g.fillStyle = needle && !hit ? style('--line') : colour(row[3 * i + 2]);
            g.fillRect(left, top, Math.max(1, right - left - (right - left > 4 ? 1 : 0)), kRow - 2);
            painted = Math.floor(right);
            ++drawn;
            const text = fitted(g, data.names[row[3 * i + 2]], Math.min(right, width) - Math.max(left, kLabel) - 8);
            if (text) {
              g.fillStyle = needle && !hit ? style('--dim') : ink;
              g.fillText(text, Math.max(left, kLabel) + 4, top + (kRow - 2) / 2);
            }
          }
        });
        g.restore();
      }
    };
    const view_surface = surface(canvas, height, draw);
    const show = (from, to) => {
      const least = 20;
      const length = Math.min(span, Math.max(least, to - from));
      from = Math.min(Math.max(0, from), span - length);
      view = { from, to: from + length };
      $('range').textContent = ns(view.from) + ' – ' + ns(view.to) + ' (' + ns(length) + ')';
      view_surface.redraw();
    };
    const zoom = (at, factor) => show(at - (at - view.from) * factor, at + (view.to - at) * factor);
    const time_at = (px) => view.from + (px - kLabel) / (view_surface.width - kLabel) * (view.to - view.from);
    canvas.addEventListener('wheel', (e) => {
      e.preventDefault();
      const shift = Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey;
      const delta = shift ? (e.deltaX || e.deltaY) : e.deltaY;
      if (shift) {
        const by = delta / 600 * (view.to - view.from);
        show(view.from + by, view.to + by);
      } else {
        zoom(time_at(Math.max(kLabel, e.offsetX)), Math.exp(delta / 400));
      }
    }, { passive: false });
    let drag = null;
    canvas.addEventListener('pointerdown', (e) => {
      drag = { x: e.clientX, view: { ...view } };
      canvas.setPointerCapture(e.pointerId);
      canvas.focus();
    });
    canvas.addEventListener('pointerup', () => { drag = null; });
    const hit_test = (px, py) => {
      for (const track of tracks) {
        const depth = Math.floor((py - track.y) / kRow);
        if (py < track.y || depth >= track.rows.length || px < kLabel) continue;
        const row = track.rows[depth], t = time_at(px), slack = (view.to - view.from) / view_surface.width;
        const i = first(row, t - slack);
        if (3 * i < row.length && row[3 * i] <= t + slack) return { track, start: row[3 * i], length: row[3 * i + 1], name: row[3 * i + 2] };
      }
      return null;
    };
    canvas.addEventListener('pointermove', (e) => {
      if (drag) {
        const by = (drag.x - e.clientX) / (view_surface.width - kLabel) * (drag.view.to - drag.view.from);
        show(drag.view.from + by, drag.view.to + by);
        tip(e, null);
        return;
      }
      const hit = hit_test(e.offsetX, e.offsetY);
      tip(e, hit && [data.names[hit.name], ns(hit.length) + ' at ' + ns(hit.start), hit.track.name]);
    });
    canvas.addEventListener('pointerleave', (e) => tip(e, null));
    canvas.addEventListener('dblclick', (e) => {
      const hit = hit_test(e.offsetX, e.offsetY);
      if (hit) show(hit.start - hit.length * 0.2, hit.start + hit.length * 1.2);
    });
    canvas.addEventListener('keydown', (e) => {
      const middle = (view.from + view.to) / 2, by = (view.to - view.from) / 5;
      const keys = {
        w: () => zoom(middle, 0.7), s: () => zoom(middle, 1 / 0.7), a: () => show(view.from - by, view.to - by),
        d: () => show(view.from + by, view.to + by), '+': () => zoom(middle, 0.7), '-': () => zoom(middle, 1 / 0.7),
        ArrowLeft: () => show(view.from - by, view.to - by), ArrowRight: () => show(view.from + by, view.to + by),
        0: () => show(0, span), Home: () => show(0, span),
      };
      if (keys[e.key]) {
        e.preventDefault();
        keys[e.key]();
      }
    });
    $('search').addEventListener('input', (e) => {
      needle = e.target.value.toLowerCase();
      view_surface.redraw();
    });
    $('reset').addEventListener('click', () => show(0, span));
    show(0, span);
    return () => drawn;
  };

  // --- Flame graph: [name, total, children] from the root; click zooms into a frame.
  const flame = (canvasId, root) => {
    const canvas = $(canvasId);
    const deep = (node) => 1 + Math.max(0, ...node[2].map(deep));
    if (!root || root[1] <= 0) {
      canvas.replaceWith(el('p', 'dim', 'nothing to show'));
      return;
    }
    let focus = [root], boxes = [];
    const draw = (g, width, height) => {
      g.fillStyle = style('--bg');
      g.fillRect(0, 0, width, height);
      boxes = [];
      const ink = matchMedia('(prefers-color-scheme: dark)').matches ? '#fff' : '#111';
      const box = (node, left, w, depth, path) => {
        if (w < 0.7) return;
        const top = depth * kRow;
        boxes.push({ node, left, w, top, path });
        g.fillStyle = colour(node[0]);
        g.fillRect(left, top, Math.max(0.7, w - 0.7), kRow - 1);
        const text = fitted(g, data.names[node[0]], w - 8);
        if (text) {
          g.fillStyle = ink;
          g.fillText(text, left + 4, top + kRow / 2);
        }
      };
      focus.slice(0, -1).forEach((node, depth) => box(node, 0, width, depth, focus.slice(0, depth + 1)));
      const place = (node, left, w, depth, path) => {
        box(node, left, w, depth, path);
        let at = left;
        for (const child of node[2]) {
          const part = w * child[1] / node[1];
          if (part >= 0.7) place(child, at, part, depth + 1, [...path, child]);
          at += part;
        }
      };
      const top = focus[focus.length - 1];
      place(top, 0, width, focus.length - 1, focus);
    };
    const view = surface(canvas, Math.max(60, deep(root) * kRow + 4), draw);
    const at = (e) => boxes.findLast((b) => e.offsetX >= b.left && e.offsetX < b.left + b.w && e.offsetY >= b.top && e.offsetY < b.top + kRow);
    canvas.addEventListener('pointermove', (e) => {
      const b = at(e);
      tip(e, b && [data.names[b.node[0]], ns(b.node[1]) + ', ' + (100 * b.node[1] / root[1]).toFixed(1) + ' %']);
    });
    canvas.addEventListener('pointerleave', (e) => tip(e, null));
    canvas.addEventListener('click', (e) => {
      const b = at(e);
      if (b) {
        focus = b.path;
        view.redraw();
      }
    });
  };

  summary();
  const drawn = timeline();
  flame('cpu-flame', data.cpu_flame);
  flame('gpu-flame', data.gpu_flame);
  // For tests: the page says that it got this far, and what it drew.
  document.documentElement.dataset.ready = 'yes';
  document.documentElement.dataset.drawn = drawn();
  document.documentElement.dataset.tracks = data.tracks.length;
})();
