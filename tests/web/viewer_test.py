#!/usr/bin/env python3
"""The HTML report in a browser: what it shows, how it answers to keys and mouse, what it costs with a million events.

  viewer_test.py --bin BUILD/bin [--pictures FOLDER] [TEST…]

Skipped (status 77) where there is no Chromium. Costs are counted in boxes drawn and in seconds of the processor, which
are the same on a busy machine; clocks are reported and never compared. --pictures keeps what the pages look like.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser
import cost

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = PICTURES = CHROMIUM = FOLDER = None
EVENTS = 1_000_000


def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def page_of(trace, *options):
    """The page of a .rpd file, or of a text that trace_from_text reads."""
    if trace.suffix == ".txt":
        rpd = FOLDER / (trace.stem + ".rpd")
        rpd.unlink(missing_ok=True)
        run(BIN / "trace_from_text", trace, rpd)
        trace = rpd
    html = FOLDER / (trace.stem + ".html")
    run(BIN / "wavetap", "export", "--format", "html", trace, "-o", html, *options)
    return html


def opened(html):
    page = CHROMIUM.open(html.as_uri())
    page.wait("globalThis.wavetap !== undefined")
    return page


class Small(unittest.TestCase):
    """tests/traces/small.txt: 20 calls and markers of two threads, 8 ops on two GPUs."""

    @classmethod
    def setUpClass(cls):
        cls.html = page_of(SOURCE / "tests/traces/small.txt")

    def setUp(self):
        self.page = opened(self.html)
        self.page.frame()

    def tearDown(self):
        self.assertEqual(CHROMIUM.errors(), [])
        self.page.call("Page.close")

    def text(self, id):
        return self.page.evaluate(f"document.getElementById('{id}').textContent")

    def view(self):
        view = self.page.evaluate("wavetap.timeline.view")
        return view["from"], view["to"]

    def look_for(self, text):
        self.page.evaluate("document.getElementById('search').focus()")
        self.page.type(text)

    def place(self, row, time_ns):
        """Where on the screen a row is at a time."""
        return self.page.evaluate(
            f"(() => {{ const t = wavetap.timeline, f = t.surface.canvas.getBoundingClientRect();"
            f"return [f.left + t.xOf({time_ns}), f.top + t.layout.yOf({row}) + 6]; }})()")

    def test_every_event_is_a_box(self):
        self.assertEqual(self.page.evaluate("wavetap.timeline.rows.reduce((sum, row) => sum + row.count, 0)"), 28)
        self.assertEqual(self.page.evaluate("wavetap.timeline.stats.boxes"), 28)
        tracks = self.page.evaluate("wavetap.timeline.layout.tracks.map((track) => track.name)")
        self.assertEqual(tracks, ["GPU 0 queue 1", "GPU 1 queue 2", "GPU 1 queue 3", "thread 100 (main)", "thread 101"])

    def test_times_have_one_unit_everywhere(self):
        text = self.page.evaluate("document.body.innerText")
        self.assertIn("129.00 µs", text)
        self.assertNotRegex(text, r"\d us\b")

    def test_search_counts_jumps_and_filters(self):
        self.look_for("LAUNCH")
        self.assertEqual(self.text("count"), "6 matches")
        tables = self.page.evaluate("Object.fromEntries(wavetap.tables.map((t) => [t.table.title, t.body.rows.length]))")
        self.assertEqual(tables["Calls by total time"], 2)
        self.assertEqual(tables["Kernels by total time"], 0)
        seen = []
        for _ in range(7):
            self.page.key("Enter")
            self.page.frame()
            seen.append((self.text("count"), self.page.evaluate("wavetap.timeline.rows[wavetap.timeline.selected.row].start[wavetap.timeline.selected.item]")))
        self.assertEqual([count for count, _ in seen], [f"{n} of 6 matches" for n in (1, 2, 3, 4, 5, 6, 1)])
        starts = [start for _, start in seen[:6]]
        self.assertEqual(starts, sorted(starts))
        self.page.key("Enter", shift=True)
        self.assertEqual(self.text("count"), "6 of 6 matches")
        begin, end = self.view()
        self.assertTrue(begin <= starts[-1] <= end, "the match is in sight")
        self.page.key("Escape")
        self.assertEqual(self.text("count"), "")
        self.assertEqual(self.page.evaluate("wavetap.tables[1].body.rows.length"), 3)

    def test_search_finds_what_short_names_leave_out(self):
        self.look_for("float*")
        self.assertNotEqual(self.text("count"), "0 matches")
        self.look_for("no such name")
        self.assertEqual(self.text("count"), "0 matches")
        self.page.key("Enter")
        self.assertEqual(self.view(), (0, 129000))

    def test_wheel_zooms_where_the_pointer_is(self):
        x, y = map(round, self.place(0, 60000))
        time_ns = self.page.evaluate(f"wavetap.timeline.timeAt({x} - wavetap.timeline.surface.canvas.getBoundingClientRect().left)")
        for _ in range(5):
            self.page.wheel(x, y, -120)
        self.page.frame()
        begin, end = self.view()
        self.assertLess(end - begin, 129000 / 3)
        self.assertAlmostEqual(self.place(0, time_ns)[0], x, delta=0.5)
        self.page.wheel(x, y, 240, shift=True)
        self.page.frame()
        self.assertGreater(self.view()[0], begin)
        self.page.key("0")
        self.page.evaluate("document.getElementById('reset').click()")
        self.assertEqual(self.view(), (0, 129000))

    def test_dragging_moves_and_the_axis_selects(self):
        self.page.evaluate("wavetap.timeline.show(20000, 60000)")
        self.page.frame()
        x, y = self.place(0, 40000)
        self.page.press(x, y, release=False)
        self.page.move(x + 100, y, pressed=True)
        self.page.release(x + 100, y)
        self.page.frame()
        self.assertAlmostEqual(self.place(0, 40000)[0], x + 100, delta=1)
        self.page.evaluate("wavetap.timeline.showAll()")
        self.page.frame()
        top = self.page.evaluate("wavetap.timeline.surface.canvas.getBoundingClientRect().top") + 8
        left, right = self.place(0, 30000)[0], self.place(0, 50000)[0]
        self.page.press(left, top, release=False)
        self.page.move(right, top, pressed=True)
        self.page.release(right, top)
        begin, end = self.view()
        self.assertAlmostEqual(begin, 30000, delta=200)
        self.assertAlmostEqual(end, 50000, delta=200)

    def test_pointing_and_clicking_say_what_an_item_is(self):
        rows = self.page.evaluate("wavetap.timeline.rows.map((row) => [row.start[0], row.end[0], row.name[0]])")
        begin, end, _ = rows[0]
        x, y = self.place(0, (begin + end) / 2)
        self.page.move(x, y)
        self.page.frame()
        self.assertRegex(self.text("tip"), r"at .* ns|µs")
        self.page.press(x, y)
        self.assertIn("GPU 0 queue 1", self.text("detail"))
        self.page.press(x, y, count=2)
        self.page.frame()
        view = self.view()
        self.assertAlmostEqual(view[1] - view[0], (end - begin) * 1.4, delta=2)

    def test_a_track_folds(self):
        height = self.page.evaluate("wavetap.timeline.layout.height")
        frame = self.page.evaluate("(() => { const f = wavetap.timeline.surface.canvas.getBoundingClientRect(); return [f.left, f.top]; })()")
        track = self.page.evaluate("wavetap.timeline.layout.tracks.find((t) => t.rows.length > 1).y")
        self.page.press(frame[0] + 20, frame[1] + track + 6)
        self.page.frame()
        self.assertLess(self.page.evaluate("wavetap.timeline.layout.height"), height)
        self.assertLess(self.page.evaluate("wavetap.timeline.stats.boxes"), 28)

    def test_tables_sort_by_a_column(self):
        def names():
            return self.page.evaluate("[...wavetap.tables[2].body.rows].map((row) => row.cells[0].textContent)")
        by_time = names()
        self.page.evaluate("wavetap.tables[2].titles[0].querySelector('button').click()")
        self.assertEqual(names(), sorted(by_time))
        self.page.evaluate("wavetap.tables[2].titles[2].querySelector('button').click()")
        self.assertEqual(names(), by_time)

    def test_the_last_label_of_the_axis_is_whole(self):
        outside = self.page.evaluate("""(() => {
          const t = wavetap.timeline, g = t.surface.canvas.getContext('2d'), out = [], write = g.fillText;
          g.fillText = (text, x, y) => { if (x < 0 || x + g.measureText(text).width > t.surface.width) out.push(text); write.call(g, text, x, y); };
          for (let to = 100000; to <= 129000; to += 137) { t.show(0, to); t.surface.paint(); }
          delete g.fillText;
          return out;
        })()""")
        self.assertEqual(outside, [])

    def test_a_flame_graph_fills_the_width_with_a_frame(self):
        frame = self.page.evaluate("(() => { const f = wavetap.flames[0], b = f.surface.canvas.getBoundingClientRect(); scrollTo(0, b.top);"
                                   "const c = f.surface.canvas.getBoundingClientRect(); return [c.left + 20, c.top + 17 + 8]; })()")
        self.page.frame()
        self.page.press(*frame)
        self.page.frame()
        self.assertNotEqual(self.page.evaluate("wavetap.flames[0].focus"), 0)
        self.assertEqual(self.page.evaluate("wavetap.flames[0].boxes.filter((b) => b.i === wavetap.flames[0].focus)[0].left"), 0)

    def test_pictures(self):
        for scheme in ("light", "dark"):
            self.page.dark(scheme == "dark")
            self.page.frame()
            background = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(background == "rgb(255, 255, 255)", scheme == "light")
            pixel = self.page.evaluate("[...wavetap.timeline.surface.canvas.getContext('2d').getImageData(2, 2, 1, 1).data].slice(0, 3)")
            self.assertEqual(f"rgb({', '.join(map(str, pixel))})", background, "the canvas follows the scheme")
            if PICTURES:
                self.page.screenshot(PICTURES / f"small-{scheme}.png", whole=True)
        if PICTURES:
            self.page.key("?")
            self.page.frame()
            self.page.screenshot(PICTURES / "keys.png")


class Odd(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(CHROMIUM.errors(), [])

    def test_traces_that_should_not_be_run_to_the_end(self):
        for name in ("empty", "odd", "lossy"):
            page = opened(page_of(SOURCE / f"tests/traces/{name}.txt"))
            page.frame()
            if PICTURES:
                page.screenshot(PICTURES / f"{name}.png", whole=True)

    def test_names_cannot_leave_their_place(self):
        text = FOLDER / "names.txt"
        text.write_text("meta producer wavetap 0.1\nthread 1 1\ncall 1000 2000 </script><img/src=x/onerror=alert(1)>\ncall 3000 4000 <!--<script>\n")
        page = opened(page_of(text))
        names = page.evaluate("[...document.querySelectorAll('td.name')].map((cell) => cell.textContent)")
        self.assertIn("</script><img/src=x/onerror=alert(1)>", names)
        self.assertEqual(page.evaluate("document.images.length"), 0)

    def test_calls_nested_by_the_thousand(self):
        depth = 20000
        text = FOLDER / "deep.txt"
        lines = ["meta producer wavetap 0.1", "thread 1 1"]
        lines += [f"call {1000 + i} {2000000 - i} f{i % 7}" for i in range(depth)]
        text.write_text("\n".join(lines) + "\n")
        page = opened(page_of(text))
        page.evaluate("wavetap.timeline.surface.box.scrollTop = 100000")
        page.frame()
        self.assertEqual(page.evaluate("wavetap.timeline.rows.length"), depth)
        self.assertLess(page.evaluate("wavetap.timeline.stats.rows"), 100, "rows out of sight are not drawn")


class Million(unittest.TestCase):
    """A page of a million calls: usable, and of bounded cost."""

    @classmethod
    def setUpClass(cls):
        if not (BIN / "bench_make_trace").exists():
            raise unittest.SkipTest("built without the benchmarks, one of which writes the trace")
        trace = FOLDER / "million.rpd"
        run(BIN / "bench_make_trace", trace, EVENTS, 8)
        cls.html = page_of(trace)
        trace.unlink()

    def test_cost(self):
        numbers, page = cost.measure(CHROMIUM, self.html)
        print("\n" + cost.text(numbers))
        self.assertGreaterEqual(numbers["items"], EVENTS)
        self.assertGreater(numbers["matches"], EVENTS / 100)
        self.assertLess(numbers["bytes"], 23e6)
        self.assertLess(numbers["load_s"], 3)
        self.assertLess(numbers["zoom_s"], 0.05)
        self.assertLessEqual(numbers["boxes_per_pixel"], 2)
        if PICTURES:
            page.screenshot(PICTURES / "million-found.png")
            page.key("Escape")
            page.evaluate("wavetap.timeline.select(null), wavetap.timeline.showAll()")
            page.frame()
            page.screenshot(PICTURES / "million.png")


def main():
    global BIN, PICTURES, CHROMIUM, FOLDER
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    if not browser.program():
        print("no Chromium; skipped")
        sys.exit(77)
    BIN, PICTURES = arguments.bin.resolve(), arguments.pictures
    if PICTURES:
        PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wavetap-web-") as folder, browser.start() as CHROMIUM:
        FOLDER = pathlib.Path(folder)
        unittest.main(argv=[sys.argv[0], *arguments.tests], verbosity=2)


if __name__ == "__main__":
    main()
