// Facts and tables of the summary. A click on a column's title sorts by it; the search leaves the rows
// that match.

const kFirstRows = 25;  // shown of a table until more are asked for

const showFacts = () => {
  $('path').textContent = data.path;
  for (const warning of data.warnings) $('banners').append(element('div', 'banner', warning));
  for (const { title, value, unit } of data.facts) {
    const text = cellText(value, unit), box = element('div', text.length > 24 ? 'fact wide' : 'fact');
    box.append(element('b', '', text), element('span', 'dim', title));
    $('facts').append(box);
  }
};

class SummaryTable {
  constructor(table, parent) {
    this.table = table;
    this.sorted = null;  // {column, down}
    this.all = false;
    this.body = element('tbody');
    this.more = element('button', 'more');
    this.more.type = 'button';
    this.more.addEventListener('click', () => {
      this.all = !this.all;
      this.fill();
    });
    this.count = element('span', 'dim');
    const title = element('h2', '', table.title + ' '), wrap = element('div', 'scroll'), node = element('table');
    title.append(this.count);
    node.append(this.head(), this.body);
    wrap.append(node);
    parent.append(title, wrap, this.more);
    this.fill();
  }

  head() {
    const head = element('thead'), row = element('tr');
    this.titles = this.table.columns.map((column, i) => {
      const cell = element('th', column.unit === 'text' ? 'name' : '');
      const button = element('button', '', column.title);
      button.type = 'button';
      if (column.unit !== 'bar') cell.append(button);
      button.addEventListener('click', () => {
        const down = this.sorted && this.sorted.column === i ? !this.sorted.down : column.unit !== 'text';
        this.sorted = { column: i, down };
        this.fill();
      });
      row.append(cell);
      return cell;
    });
    head.append(row);
    return head;
  }

  // A row matches when one of its names does: what is shown of it, or all of it.
  matches(row) {
    return !search.text || this.table.columns.some((column, i) => column.unit === 'text' && row[i] !== null &&
      (data.names[row[i]].toLowerCase().includes(search.text) || (data.full[row[i]] || '').toLowerCase().includes(search.text)));
  }

  order(rows) {
    if (!this.sorted) return rows;
    const { column, down } = this.sorted, text = this.table.columns[column].unit === 'text';
    const key = (row) => (row[column] === null ? (text ? '' : -Infinity) : text ? data.names[row[column]] : row[column]);
    return [...rows].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (down ? -1 : 1));
  }

  fill() {
    const found = this.order(this.table.rows.filter((row) => this.matches(row)));
    const shown = this.all || search.text ? found : found.slice(0, kFirstRows);
    this.body.replaceChildren(...shown.map((row) => this.row(row)));
    const missing = this.table.total - this.table.rows.length;
    this.count.textContent = search.text ? countText(found.length) + ' of ' + countText(this.table.rows.length)
      : missing > 0 ? 'the first ' + countText(this.table.rows.length) + ' of ' + countText(this.table.total) : '';
    this.more.hidden = search.text !== '' || found.length <= kFirstRows;
    this.more.textContent = this.all ? 'show fewer' : 'show all ' + countText(found.length);
    this.titles.forEach((cell, i) => {
      cell.ariaSort = this.sorted && this.sorted.column === i ? (this.sorted.down ? 'descending' : 'ascending') : null;
    });
  }

  row(values) {
    const row = element('tr');
    values.forEach((value, i) => {
      const { unit } = this.table.columns[i];
      const cell = element('td', unit === 'text' ? 'name' : unit === 'bar' ? 'bar' : '');
      if (unit === 'bar') {
        const bar = element('i');
        bar.style.width = Math.max(0, Math.min(1, value)) * 100 + '%';
        cell.append(bar);
      } else if (unit === 'text' && value !== null) {
        cell.textContent = data.names[value];
        cell.title = data.full[value] || data.names[value];
      } else {
        cell.textContent = cellText(value, unit);
      }
      row.append(cell);
    });
    return row;
  }
}

const showTables = () => data.tables.map((table) => new SummaryTable(table, $('tables')));
