"""Captures from Python and C: arguments and buffers as arrays, a replay, its comparison. Run by capture.py, case from_code."""
import sys

import wavetap


def main(path, damaged):
    with wavetap.open_capture(path) as file:
        assert len(file) == 1
        capture = file[0]
        assert capture.kernel.startswith("saxpy(int, float, float const*, float*)"), capture.kernel
        assert capture.has_before and capture.has_after and capture.workgroup == (256, 1, 1), vars(capture)
        count = int.from_bytes(capture.arguments[0].value, "little")
        assert (capture.arguments[1].type, capture.arguments[1].element) == ("float", "f32"), capture.arguments[1]
        replay = capture.replay()
        assert len(replay.run(iterations=2)) == 2 and replay.printed == ""
        found = replay.compare()
        assert found.equal and found.written_bytes > 0 and found.differing == 0, found
        import numpy
        factor = numpy.frombuffer(capture.arguments[1].value, "<f4")[0]
        x, y, after = capture.array(2, count), capture.array(3, count), capture.array(3, count, after=True)
        assert x.dtype == numpy.float32 and numpy.array_equal(after, replay.array(3, count))
        assert numpy.allclose(after, factor * x + y)
        # Another input gives another result, and back.
        replay.restore()
        replay.write(capture.arguments[2].pointer, numpy.zeros(count, "<f4").tobytes())
        replay.run()
        assert numpy.array_equal(replay.array(3, count), y)
        found = replay.compare()
        assert not found.equal and found.differing > 0 and found.first_address, found
        replay.restore()
        replay.run()
        assert replay.compare("rel=1e-6").equal
        for wrong in (lambda: capture.read(0x10, 4), lambda: replay.write(0x10, b"1234"), lambda: replay.compare("nonsense")):
            try:
                wrong()
            except wavetap.CaptureError as error:
                assert error.code == 1 and str(error), error
            else:
                raise AssertionError("no error")
    try:
        wavetap.open_capture(damaged)
    except wavetap.CaptureError as error:
        assert error.code == 10, error.code
    else:
        raise AssertionError("no error")
    print("ok")


main(*sys.argv[1:])
