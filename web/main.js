// Puts the page together: what is known at once first, the timeline when its items are unpacked.

const start = async () => {
  readTheme();
  scheme.addEventListener('change', readTheme);
  showFacts();
  const tables = showTables();
  const flames = [startFlame('cpu-flame', data.cpu_flame), startFlame('gpu-flame', data.gpu_flame)].filter(Boolean);
  $('help').addEventListener('click', () => $('keys').showModal());
  $('keys').addEventListener('click', () => $('keys').close());

  const timeline = startTimeline(readTracks(await unpack()));
  const matches = new Matches(timeline);

  const look = () => {
    startSearch($('search').value);
    matches.update();
    for (const table of tables) table.fill();
    for (const flame of flames) flame.surface.redraw();
  };
  $('search').addEventListener('input', look);
  $('search').addEventListener('keydown', (e) => {
    if (e.key === 'Enter') matches.step(e.shiftKey);
    if (e.key === 'Escape') {
      $('search').value = '';
      look();
    }
  });
  $('next').addEventListener('click', () => matches.step(false));
  $('previous').addEventListener('click', () => matches.step(true));
  addEventListener('keydown', (e) => {
    if (e.target instanceof HTMLInputElement || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === '/') {
      e.preventDefault();
      $('search').focus();
    }
    if (e.key === '?') $('keys').showModal();
  });

  timeline.surface.paint();
  // For tests, and for who wants more from the browser's console.
  globalThis.wavetap = { timeline, matches, tables, flames };
};

start().catch((error) => {
  const old = typeof DecompressionStream === 'undefined' ? 'this browser cannot unpack the timeline; use one of 2023 or later' : String(error);
  $('banners').append(element('div', 'banner', old));
});
