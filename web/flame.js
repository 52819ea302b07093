// Flame graphs: time by call stack, callers above. A click fills the width with a frame.
//
// A graph is four lists, callers before what they call and the heaviest first: for each frame the number
// of the one above it, its name and its time.

class Flame {
  constructor(box, { parent, name, time }) {
    this.name = name;
    this.time = time;
    this.parent = parent;
    this.depth = new Uint32Array(name.length);
    this.left = new Float64Array(name.length);  // time to the left of it
    const taken = new Float64Array(name.length);
    let deepest = 0;
    for (let i = 1; i < name.length; ++i) {
      const above = parent[i];
      this.depth[i] = this.depth[above] + 1;
      this.left[i] = this.left[above] + taken[above];
      taken[above] += time[i];
      deepest = Math.max(deepest, this.depth[i]);
    }
    this.focus = 0;
    this.boxes = [];
    this.surface = surface(box, (g, width, height, scroll) => this.draw(g, width, height, scroll));
    this.surface.setHeight((deepest + 1) * kRowHeight + 4);
    this.listen(box);
  }

  draw(g, width, height, scroll) {
    const scale = width / this.time[this.focus], from = this.left[this.focus];
    this.boxes = [];
    for (let i = 0; i < this.name.length; ++i) {
      const y = this.depth[i] * kRowHeight - scroll;
      if (y < -kRowHeight || y > height) continue;
      const left = Math.max(0, (this.left[i] - from) * scale);
      const right = Math.min(width, (this.left[i] + this.time[i] - from) * scale);
      if (right - left < 0.7) continue;
      this.boxes.push({ i, left, right, y });
      const dim = search.hit !== null && !isHit(this.name[i]);
      g.fillStyle = dim ? theme.faint : cssColour(nameColour(this.name[i]));
      g.fillRect(left, y, Math.max(0.7, right - left - 0.7), kRowHeight - 1);
      const text = right - left > kTextRoom ? fitted(g, data.names[this.name[i]], right - left - 8) : '';
      g.fillStyle = dim ? theme.dim : theme.ink;
      if (text) g.fillText(text, left + 4, y + kRowHeight / 2);
    }
  }

  listen(box) {
    const { canvas } = this.surface;
    const at = (e) => {
      const frame = canvas.getBoundingClientRect(), x = e.clientX - frame.left, y = e.clientY - frame.top;
      return this.boxes.findLast((b) => x >= b.left && x < b.right && y >= b.y && y < b.y + kRowHeight);
    };
    canvas.addEventListener('pointermove', (e) => {
      const found = at(e);
      showTip(e, found && this.describe(found.i));
    });
    canvas.addEventListener('pointerleave', (e) => showTip(e, null));
    canvas.addEventListener('click', (e) => {
      const found = at(e);
      if (!found) return;
      this.focus = found.i;
      this.surface.redraw();
    });
    box.addEventListener('keydown', (e) => {
      if (e.key !== 'Escape' || !this.focus) return;
      this.focus = 0;
      this.surface.redraw();
    });
  }

  describe(i) {
    const lines = [data.names[this.name[i]], nsText(this.time[i]) + ', ' + (100 * this.time[i] / this.time[0]).toFixed(1) + ' %'];
    if (data.full[this.name[i]]) lines.push(data.full[this.name[i]]);
    return lines;
  }
}

const startFlame = (id, graph) => {
  if (graph.name.length && graph.time[0] > 0) return new Flame($(id), graph);
  $(id).replaceWith(element('p', 'dim', 'nothing to show'));
  return null;
};
