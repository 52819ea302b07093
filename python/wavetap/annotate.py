"""For allocators that cut GPU memory into blocks of their own: wavetap/annotate.h from Python.

    import wavetap.annotate as annotate

    annotate.pool(address, size)        # nothing in it may be used now
    annotate.block(address + 256, 100)  # ... but these bytes
    annotate.block_end(address + 256)
    annotate.pool_end(address)

Under `wavetap sanitize` accesses past a block, or to one that was given back, are found. Else nothing happens. Each returns
whether somebody listens.
"""
import ctypes

_POOL, _POOL_END, _BLOCK, _BLOCK_END = 1, 2, 3, 4


def _annotate(what: int, address: int, size: int) -> bool:
    listener = getattr(ctypes.CDLL(None), "wavetap_annotate_v1", None)
    if listener is None:
        return False
    listener(ctypes.c_int(what), ctypes.c_void_p(address), ctypes.c_size_t(size))
    return True


def pool(address: int, size: int) -> bool:
    return _annotate(_POOL, address, size)


def pool_end(address: int) -> bool:
    return _annotate(_POOL_END, address, 0)


def block(address: int, size: int) -> bool:
    return _annotate(_BLOCK, address, size)


def block_end(address: int) -> bool:
    return _annotate(_BLOCK_END, address, 0)
