"""What the HTML report costs the browser that shows it: viewer_test.py holds it against bounds, bench/ prints it.

Times are seconds of the processor, used by the page's main thread, but for those named clock.
"""
import statistics
import time

STEPS = 60  # of zooming


def measure(chromium, html):
    """Opens the page, zooms in and out, searches. Returns numbers by name, and the page."""
    cost = {"bytes": html.stat().st_size}
    begin = time.monotonic()
    page = chromium.open(html.as_uri())
    page.wait("globalThis.wavetap !== undefined")
    cost["load_clock_s"] = time.monotonic() - begin
    cost["load_s"] = page.processor_seconds()
    page.frame()
    cost["items"] = page.evaluate("wavetap.timeline.rows.reduce((sum, row) => sum + row.count, 0)")

    x, y = page.evaluate("(() => { const f = wavetap.timeline.surface.canvas.getBoundingClientRect(); return [f.left + 700, f.top + 60]; })()")
    frames, clocks, boxes = [], [], []
    for step in range(STEPS):
        before = page.processor_seconds()
        page.wheel(x, y, -120 if step < STEPS * 2 / 3 else 120)
        page.frame()
        frames.append(page.processor_seconds() - before)
        clocks.append(page.evaluate("wavetap.timeline.surface.spent") / 1e3)
        boxes.append(page.evaluate("(({ boxes, rows, pixels }) => boxes / (rows * pixels))(wavetap.timeline.stats)"))
    cost |= {"zoom_s": statistics.median(frames), "zoom_most_s": max(frames), "draw_clock_s": statistics.median(clocks),
             "boxes_per_pixel": max(boxes)}

    before = page.processor_seconds()
    page.evaluate("document.getElementById('search').focus()")
    page.type("launch")
    page.key("Enter")
    page.frame()
    cost |= {"search_s": page.processor_seconds() - before, "matches": page.evaluate("wavetap.matches.total")}
    return cost, page


def text(cost):
    return (f"{cost['items']:,} items in {cost['bytes'] / 1e6:.1f} MB: ready after {cost['load_s']:.2f} s of the processor "
            f"({cost['load_clock_s']:.2f} s by the clock); a step of zooming {cost['zoom_s'] * 1e3:.1f} ms, at most "
            f"{cost['zoom_most_s'] * 1e3:.1f} (its drawing {cost['draw_clock_s'] * 1e3:.1f} ms by the clock, {cost['boxes_per_pixel']:.2f} "
            f"boxes a pixel); a search of {cost['matches']:,} matches {cost['search_s'] * 1e3:.0f} ms")
