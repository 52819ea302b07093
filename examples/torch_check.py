#!/usr/bin/env python3
"""Holds PyTorch on a GPU against the CPU: some 200 operators forward and backward, and three small models.

    wavetap run --gpu mi210 -- python3 examples/torch_check.py          # a GPU that is not there
    python3 examples/torch_check.py                                     # the one that is
    python3 examples/torch_check.py --device cpu                        # checks this program itself

Works with any PyTorch for ROCm. Every operator gets the same seeded inputs on both sides. The reference is computed on
the CPU in double precision, so that the device's rounding is judged, not the CPU's; integers and choices must be equal.
Operators that this PyTorch does not have are left out and counted.

Exit status: 0 all right, 1 something differs, 77 no PyTorch or no such device.
"""
import argparse
import re
import sys
import time
import zlib

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"SKIP: no PyTorch here ({error})")
    sys.exit(77)

# --- Inputs: a function of a random generator that gives a tensor in double precision.


def real(*shape, low=-2.0, high=2.0):
    return lambda g: torch.rand(shape, generator=g, dtype=torch.float64) * (high - low) + low


def integers(*shape, low=0, high=10):
    return lambda g: torch.randint(low, high, shape, generator=g)


def truths(*shape):
    return lambda g: torch.rand(shape, generator=g) < 0.5


def distinct(*shape):
    """No two elements alike, or near: the order is the same in every precision."""
    def make(g):
        count = torch.Size(shape).numel()
        return (torch.randperm(count, generator=g).double() / 4 - count / 8).reshape(shape)
    return make


def positive_definite(size):
    def make(g):
        a = torch.rand(size, size, generator=g, dtype=torch.float64)
        return a @ a.T + size * torch.eye(size, dtype=torch.float64)
    return make


def unit_rows(*shape):
    return lambda g: torch.softmax(torch.rand(shape, generator=g, dtype=torch.float64), -1)


class Operator:
    """grad: compare gradients as well. tolerance: relative to the largest element of the reference."""

    def __init__(self, group, name, function, *inputs, grad=True, tolerance=2e-5):
        self.group, self.name, self.function, self.inputs = group, name, function, inputs
        self.grad, self.tolerance = grad, tolerance


PLAIN = real(7, 33)


def elementwise():
    anywhere = ("abs atan ceil cos deg2rad erf erfc exp exp2 expm1 floor frac neg rad2deg relu round sigmoid sign sin "
                "sinc sinh asinh square tanh trunc cosh i0 positive sgn")
    inside = {"acos": (-0.9, 0.9), "asin": (-0.9, 0.9), "atanh": (-0.9, 0.9), "erfinv": (-0.9, 0.9), "acosh": (1.1, 4),
              "digamma": (0.5, 5), "lgamma": (0.5, 5), "log": (0.1, 5), "log10": (0.1, 5), "log1p": (-0.5, 5),
              "log2": (0.1, 5), "logit": (0.1, 0.9), "reciprocal": (0.3, 4), "rsqrt": (0.1, 4), "sqrt": (0.1, 4),
              "tan": (-1.2, 1.2)}
    for name in anywhere.split():
        # Where a step is, the gradient is zero or the step is hit by chance.
        yield Operator("elementwise", name, getattr(torch, name, None), PLAIN,
                       grad=name not in ("ceil", "floor", "round", "trunc", "sign", "sgn"))
    for name, (low, high) in inside.items():
        yield Operator("elementwise", name, getattr(torch, name, None), real(7, 33, low=low, high=high), tolerance=1e-4)
    for name in ("celu elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus "
                 "softsign tanhshrink hardshrink softshrink glu").split():
        shape = real(7, 34)
        yield Operator("activation", name, getattr(F, name, None), shape)
    for name in ("softmax", "log_softmax", "softmin"):
        yield Operator("activation", name, lambda x, f=getattr(F, name): f(x, dim=-1), PLAIN)
    yield Operator("activation", "threshold", lambda x: F.threshold(x, 0.1, 20.0), PLAIN)


def binary():
    positive = real(7, 33, low=0.5, high=3)
    for name in "add sub mul maximum minimum fmax fmin hypot atan2 copysign logaddexp logaddexp2".split():
        yield Operator("binary", name, getattr(torch, name, None), PLAIN, PLAIN)
    for name in ("div", "pow", "xlogy"):
        yield Operator("binary", name, getattr(torch, name), positive, positive)
    for name in ("fmod", "remainder"):
        yield Operator("binary", name, lambda a, f=getattr(torch, name): f(a, 0.75), distinct(7, 33), grad=False)
    yield Operator("binary", "broadcast add", torch.add, real(7, 1, 33), real(5, 1))
    yield Operator("binary", "lerp", lambda a, b: torch.lerp(a, b, 0.3), PLAIN, PLAIN)
    yield Operator("binary", "addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), PLAIN, PLAIN, PLAIN)
    yield Operator("binary", "addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.5), PLAIN, PLAIN, positive)
    yield Operator("binary", "where", torch.where, truths(7, 33), PLAIN, PLAIN)
    yield Operator("binary", "clamp", lambda a: torch.clamp(a, -0.7, 0.9), PLAIN)
    yield Operator("binary", "cross", lambda a, b: torch.cross(a, b, dim=-1), real(9, 3), real(9, 3))
    for name in "eq ne lt le gt ge".split():
        yield Operator("compare", name, getattr(torch, name), integers(7, 33, high=3), integers(7, 33, high=3), grad=False)
    for name in ("isnan", "isinf", "isfinite"):
        yield Operator("compare", name, lambda a, f=getattr(torch, name): f(torch.log(a)), real(7, 33), grad=False)
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield Operator("compare", name, getattr(torch, name), truths(7, 33), truths(7, 33), grad=False)
    yield Operator("compare", "logical_not", torch.logical_not, truths(7, 33), grad=False)
    wide = integers(7, 33, low=0, high=1 << 20)
    for name in "bitwise_and bitwise_or bitwise_xor gcd lcm".split():
        yield Operator("integer", name, getattr(torch, name, None), wide, wide, grad=False)
    yield Operator("integer", "bitwise_not", torch.bitwise_not, wide, grad=False)
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        yield Operator("integer", name, getattr(torch, name, None), wide, integers(7, 33, high=8), grad=False)
    yield Operator("integer", "floor_divide", lambda a, b: torch.div(a, b, rounding_mode="floor"), wide,
                   integers(7, 33, low=1, high=99), grad=False)


def reductions():
    for name in "sum mean std var logsumexp amax amin nansum".split():
        yield Operator("reduce", name, lambda x, f=getattr(torch, name): f(x, dim=-1), distinct(5, 7, 40))
    for name in ("sum", "mean", "std", "var"):
        yield Operator("reduce", name + " of all", getattr(torch, name), real(50, 61))
    yield Operator("reduce", "prod", lambda x: torch.prod(x, -1), real(7, 12, low=0.5, high=1.5))
    yield Operator("reduce", "norm", lambda x: torch.norm(x, dim=-1), PLAIN)
    yield Operator("reduce", "norm 1", lambda x: torch.norm(x, p=1, dim=-1), PLAIN)
    for name in ("max", "min"):
        yield Operator("reduce", name, lambda x, f=getattr(torch, name): f(x, dim=-1), distinct(9, 40))
    for name in ("argmax", "argmin"):
        yield Operator("reduce", name, lambda x, f=getattr(torch, name): f(x, dim=-1), distinct(9, 40), grad=False)
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        yield Operator("scan", name, lambda x, f=getattr(torch, name): f(x, -1), real(7, 20, low=0.5, high=1.2))
    for name in ("cummax", "cummin"):
        yield Operator("scan", name, lambda x, f=getattr(torch, name): f(x, -1), distinct(7, 20), grad=False)
    for name in ("any", "all"):
        yield Operator("reduce", name, lambda x, f=getattr(torch, name): f(x, -1), truths(9, 4), grad=False)
    yield Operator("reduce", "count_nonzero", lambda x: torch.count_nonzero(x, -1), integers(9, 40, high=3), grad=False)
    for name in ("median", "mode"):
        yield Operator("reduce", name, lambda x, f=getattr(torch, name): f(x, -1)[0], distinct(9, 41), grad=False)
    yield Operator("sort", "sort", lambda x: torch.sort(x, dim=-1), distinct(7, 133))
    yield Operator("sort", "argsort", lambda x: torch.argsort(x, dim=-1), distinct(7, 133), grad=False)
    yield Operator("sort", "topk", lambda x: torch.topk(x, 5), distinct(7, 133))
    yield Operator("sort", "kthvalue", lambda x: torch.kthvalue(x, 9), distinct(7, 133))
    yield Operator("sort", "unique", torch.unique, integers(300, high=40), grad=False)
    yield Operator("sort", "searchsorted", lambda a, b: torch.searchsorted(torch.sort(a)[0], b), distinct(50), distinct(70),
                   grad=False)
    yield Operator("sort", "bincount", torch.bincount, integers(300, high=40), grad=False)
    yield Operator("sort", "histc", lambda x: torch.histc(x, bins=10, min=-20, max=20), distinct(300), grad=False)


def indexing():
    square = real(9, 9)
    table = integers(6, 5, high=9)
    yield Operator("index", "gather", lambda x, i: torch.gather(x, 0, i), real(9, 5), table)
    yield Operator("index", "scatter", lambda x, i, s: torch.scatter(x, 1, i.argsort(1), s), real(6, 5), table, real(6, 5))
    yield Operator("index", "scatter_add", lambda x, i, s: torch.scatter_add(x, 0, i, s), real(9, 5), table, real(6, 5))
    yield Operator("index", "index_select", lambda x, i: torch.index_select(x, 0, i), real(9, 5), integers(12, high=9))
    yield Operator("index", "index_add", lambda x, i, s: torch.index_add(x, 0, i, s), real(9, 5), integers(4, high=9),
                   real(4, 5))
    yield Operator("index", "index", lambda x, i: x[i], real(9, 5), integers(12, high=9))
    yield Operator("index", "masked_fill", lambda x, m: torch.masked_fill(x, m, 3.0), PLAIN, truths(7, 33))
    yield Operator("index", "masked_select", torch.masked_select, PLAIN, truths(7, 33))
    yield Operator("index", "take", torch.take, real(9, 5), integers(12, high=45))
    yield Operator("index", "nonzero", torch.nonzero, integers(9, 9, high=2), grad=False)
    yield Operator("index", "embedding", F.embedding, integers(4, 7, high=20), real(20, 8))
    yield Operator("index", "one_hot", lambda i: F.one_hot(i, 10), integers(4, 7), grad=False)
    for name, function in {
            "flip": lambda x: torch.flip(x, [0, 1]), "roll": lambda x: torch.roll(x, 3, 1),
            "rot90": torch.rot90, "tril": torch.tril, "triu": torch.triu, "diag": torch.diag,
            "diagonal": lambda x: torch.diagonal(x, 1), "cat": lambda x: torch.cat([x, 2 * x], 1),
            "stack": lambda x: torch.stack([x, 2 * x], 1), "chunk": lambda x: torch.chunk(x, 2)[1],
            "split": lambda x: torch.split(x, 4)[1], "repeat": lambda x: x.repeat(2, 3),
            "tile": lambda x: torch.tile(x, (2, 2)), "expand": lambda x: x[:, None].expand(9, 4, 9),
            "permute": lambda x: x.reshape(3, 3, 9).permute(2, 0, 1).contiguous(), "transpose": lambda x: x.t().contiguous(),
            "unfold": lambda x: x.unfold(1, 4, 2), "narrow": lambda x: x.narrow(1, 2, 5),
            "repeat_interleave": lambda x: torch.repeat_interleave(x, 3, 1), "strided copy": lambda x: x[::2, 1::3].clone(),
            "diff": torch.diff, "movedim": lambda x: torch.movedim(x, 0, 1).contiguous()}.items():
        yield Operator("shape", name, function, square)
    yield Operator("shape", "kron", torch.kron, real(3, 4), real(2, 5))
    yield Operator("shape", "pad constant", lambda x: F.pad(x, (1, 2, 3, 4), value=7.0), PLAIN)
    for mode in ("reflect", "replicate", "circular"):
        yield Operator("shape", "pad " + mode, lambda x, m=mode: F.pad(x, (1, 2, 2, 1), mode=m), real(2, 3, 6, 7))
    for to in (torch.float16, torch.bfloat16, torch.int32, torch.uint8):
        yield Operator("cast", str(to).replace("torch.", "to "), lambda x, t=to: (x * 8).round().abs().to(t).to(torch.float32),
                       distinct(9, 9), grad=False)


def linear_algebra():
    a, b = real(17, 29), real(29, 13)
    for name, function, *inputs in (
            ("mm", torch.mm, a, b), ("matmul", torch.matmul, real(3, 17, 29), real(3, 29, 13)),
            ("matmul broadcast", torch.matmul, real(3, 2, 5, 7), real(7, 4)),
            ("bmm", torch.bmm, real(3, 17, 29), real(3, 29, 13)), ("mv", torch.mv, a, real(29)),
            ("dot", torch.dot, real(99), real(99)), ("outer", torch.outer, real(9), real(11)),
            ("addmm", torch.addmm, real(17, 13), a, b), ("baddbmm", torch.baddbmm, real(3, 5, 4), real(3, 5, 6), real(3, 6, 4)),
            ("linear", F.linear, real(5, 29), real(13, 29), real(13)),
            ("bilinear", F.bilinear, real(5, 6), real(5, 7), real(4, 6, 7)),
            ("einsum", lambda x, y: torch.einsum("bij,bkj->bik", x, y), real(3, 5, 6), real(3, 7, 6)),
            ("tensordot", lambda x, y: torch.tensordot(x, y, dims=2), real(4, 5, 6), real(5, 6, 3)),
            ("matmul transposed", lambda x, y: x.t() @ y.t(), real(29, 17), real(13, 29)),
            ("matmul large", torch.matmul, real(130, 70), real(70, 140)), ("trace", torch.trace, real(9, 9))):
        yield Operator("matrix", name, function, *inputs, tolerance=1e-4)
    spd = positive_definite(8)
    for name, function in {"inv": torch.linalg.inv, "cholesky": torch.linalg.cholesky, "det": torch.linalg.det,
                           "slogdet": lambda x: torch.linalg.slogdet(x)[1], "svdvals": torch.linalg.svdvals,
                           "eigvalsh": torch.linalg.eigvalsh, "matrix_power": lambda x: torch.linalg.matrix_power(x / 8, 3),
                           "matrix_exp": lambda x: torch.linalg.matrix_exp(x / 16),
                           "qr": lambda x: torch.linalg.qr(x)[1].abs()}.items():
        yield Operator("linalg", name, function, spd, tolerance=1e-3)
    yield Operator("linalg", "solve", torch.linalg.solve, spd, real(8, 3), tolerance=1e-3)
    yield Operator("linalg", "solve_triangular", lambda x, y: torch.linalg.solve_triangular(x.tril(), y, upper=False), spd,
                   real(8, 3), tolerance=1e-3)
    for name in ("fft", "ifft", "fft2"):
        yield Operator("fft", name, lambda x, f=getattr(torch.fft, name): torch.view_as_real(f(x).resolve_conj()), real(6, 32), tolerance=1e-4)
    yield Operator("fft", "rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), real(6, 60), tolerance=1e-4)
    yield Operator("fft", "irfft", lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2), real(6, 64), tolerance=1e-4)


def networks():
    image = real(2, 4, 11, 13)
    for name, function, *inputs in (
            ("conv1d", F.conv1d, real(2, 4, 30), real(6, 4, 3)),
            ("conv2d", F.conv2d, image, real(6, 4, 3, 3), real(6)),
            ("conv2d stride", lambda x, w: F.conv2d(x, w, stride=2, padding=1), image, real(6, 4, 3, 3)),
            ("conv2d dilated", lambda x, w: F.conv2d(x, w, dilation=2), image, real(6, 4, 3, 3)),
            ("conv2d grouped", lambda x, w: F.conv2d(x, w, groups=4), image, real(8, 1, 3, 3)),
            ("conv2d 1x1", F.conv2d, image, real(6, 4, 1, 1)),
            ("conv3d", F.conv3d, real(1, 2, 5, 6, 7), real(3, 2, 2, 3, 3)),
            ("conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=2), image, real(4, 3, 3, 3)),
            ("avg_pool1d", lambda x: F.avg_pool1d(x, 3), real(2, 4, 30)), ("avg_pool2d", lambda x: F.avg_pool2d(x, 2), image),
            ("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 3), image),
            ("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), image, real(4), real(4)),
            ("layer_norm", lambda x, w, b: F.layer_norm(x, (33,), w, b), PLAIN, real(33), real(33)),
            ("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), image, real(4), real(4)),
            ("instance_norm", F.instance_norm, image), ("local_response_norm", lambda x: F.local_response_norm(x, 3), image),
            ("interpolate nearest", lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), image),
            ("interpolate bilinear", lambda x: F.interpolate(x, (17, 19), mode="bilinear", align_corners=False), image),
            ("interpolate bicubic", lambda x: F.interpolate(x, (17, 19), mode="bicubic", align_corners=False), image),
            ("grid_sample", lambda x, y: F.grid_sample(x, y / 2, align_corners=False), image, real(2, 5, 6, 2, low=-1.7, high=1.7)),
            ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), image), ("unfold 2d", lambda x: F.unfold(x, 3), image),
            ("fold", lambda x: F.fold(x, (6, 6), 3), real(2, 18, 16)), ("normalize", lambda x: F.normalize(x, dim=1), PLAIN),
            ("cosine_similarity", F.cosine_similarity, PLAIN, PLAIN), ("pairwise_distance", F.pairwise_distance, PLAIN, PLAIN),
            ("cdist", torch.cdist, real(9, 5), real(7, 5)), ("mse_loss", F.mse_loss, PLAIN, PLAIN),
            ("l1_loss", F.l1_loss, PLAIN, PLAIN), ("smooth_l1_loss", F.smooth_l1_loss, PLAIN, PLAIN),
            ("huber_loss", getattr(F, "huber_loss", None), PLAIN, PLAIN),
            ("embedding_bag", lambda i, w: F.embedding_bag(i, w, mode="sum"), integers(4, 7, high=20), real(20, 8)),
            ("kl_div", lambda x, y: F.kl_div(F.log_softmax(x, -1), y, reduction="batchmean"), PLAIN, unit_rows(7, 33)),
            ("bce_with_logits", F.binary_cross_entropy_with_logits, PLAIN, unit_rows(7, 33)),
            ("cross_entropy", F.cross_entropy, real(12, 10), integers(12)),
            ("nll_loss", lambda x, y: F.nll_loss(F.log_softmax(x, -1), y), real(12, 10), integers(12)),
            ("attention", getattr(F, "scaled_dot_product_attention", None), real(2, 3, 9, 8), real(2, 3, 9, 8), real(2, 3, 9, 8)),
            ("prelu", F.prelu, image, real(4))):
        yield Operator("network", name, function, *inputs, tolerance=2e-4)
    for name in ("max_pool1d", "max_pool2d", "adaptive_max_pool2d"):
        shape = distinct(2, 4, 30) if name == "max_pool1d" else distinct(2, 4, 11, 13)
        yield Operator("network", name, lambda x, f=getattr(F, name): f(x, 2), shape)


def all_operators():
    for group in (elementwise, binary, reductions, indexing, linear_algebra, networks):
        yield from group()


# --- Comparing.


def flat(result):
    """The tensors of a result, whatever it is wrapped in."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in flat(part)]


def difference(got, want, tolerance):
    """What is wrong with `got`, or nothing."""
    got = got.detach().cpu()
    if got.shape != want.shape:
        return f"shape {tuple(got.shape)}, want {tuple(want.shape)}"
    if want.numel() == 0:
        return None
    if not want.is_floating_point():
        wrong = int((got != want).sum())
        return f"{wrong} of {want.numel()} elements differ" if wrong else None
    got = got.double()
    if not torch.equal(torch.isnan(got), torch.isnan(want)) or not torch.equal(torch.isinf(got), torch.isinf(want)):
        return "NaN or infinity where the reference has none, or the reverse"
    finite = torch.isfinite(want)
    error = (got - want)[finite].abs().max().item() if finite.any() else 0.0
    scale = max(want[finite].abs().max().item(), 1e-3) if finite.any() else 1.0
    return f"off by {error:.3g} of {scale:.3g}, allowed {tolerance:g} of it" if error > tolerance * scale else None


def run_once(operator, inputs, device, dtype, spoil):
    """The results of the operator and, where asked for, the gradients of its floating-point inputs."""
    given = [x.to(device=device, dtype=dtype) if x.is_floating_point() else x.to(device) for x in inputs]
    leaves = [x.requires_grad_() for x in given if x.is_floating_point() and operator.grad]
    results = flat(operator.function(*given))
    gradients = []
    outputs = [r for r in results if r.requires_grad]
    if leaves and outputs:
        generator = torch.Generator().manual_seed(5)
        weights = [torch.rand(r.shape, generator=generator, dtype=torch.float64) - 0.3 for r in outputs]
        loss = sum((r * w.to(device=device, dtype=r.dtype)).sum() for r, w in zip(outputs, weights))
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    results = [r.detach() for r in results]
    if spoil and results[0].numel():
        results[0] = results[0].clone()
        results[0].view(-1)[0] = results[0].view(-1)[0].logical_not() if results[0].dtype == torch.bool else (
            results[0].view(-1)[0] + max(1, abs(float(results[0].double().abs().max()))) * 0.1 + 1)
    return results, list(gradients)


def check_operator(operator, options):
    generator = torch.Generator().manual_seed(options.seed ^ zlib.crc32(operator.name.encode()))
    # Both sides get what single precision can hold.
    inputs = [make(generator) for make in operator.inputs]
    inputs = [x.float().double() if x.is_floating_point() else x for x in inputs]
    want, want_gradients = run_once(operator, inputs, "cpu", torch.float64, False)
    got, got_gradients = run_once(operator, inputs, options.device, torch.float32, options.spoil == operator.name)
    for number, (g, w) in enumerate(zip(got, want)):
        w = w.double() if w.is_floating_point() else w
        if wrong := difference(g, w, operator.tolerance):
            return f"result {number}: {wrong}"
    for number, (g, w) in enumerate(zip(got_gradients, want_gradients)):
        if (g is None) != (w is None):
            return f"gradient {number}: on one side only"
        if w is not None and (wrong := difference(g, w, 10 * operator.tolerance)):
            return f"gradient {number}: {wrong}"
    return None


# --- Models: a few steps of training, losses against double precision.


class Attention(torch.nn.Module):
    """One block of a language model: causal attention and a feed-forward layer, both with a shortcut."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.all_three, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.feed = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.all_three(self.first(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (width / self.heads) ** 0.5
        later = torch.ones(length, length, device=x.device, dtype=torch.bool).triu(1)
        mixed = torch.softmax(scores.masked_fill(later, float("-inf")), -1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(self.second(x))


class Language(torch.nn.Module):
    def __init__(self, words=50, width=32):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(16, width)
        self.blocks = torch.nn.Sequential(Attention(width, 4), Attention(width, 4))
        self.head = torch.nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.blocks(self.words(x) + self.places(torch.arange(x.shape[1], device=x.device)))).flatten(0, 1)


def models():
    def mlp():
        return torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32), torch.nn.Tanh(),
                                   torch.nn.Linear(32, 10))

    def cnn():
        return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                                   torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(),
                                   torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(64, 10))

    yield "perceptron", mlp, real(32, 20), integers(32), torch.optim.Adam
    yield "convolutional network", cnn, real(4, 3, 12, 12), integers(4), torch.optim.SGD
    yield "language model", Language, integers(2, 12, high=50), integers(24, high=50), torch.optim.AdamW


def train(make, optimizer, data, labels, device, dtype, steps=3):
    torch.manual_seed(11)  # the same weights on both sides: made on the CPU, in double precision
    model = make().double().to(device=device, dtype=dtype)
    data = data.to(device=device, dtype=dtype) if data.is_floating_point() else data.to(device)
    labels = labels.to(device)
    steps_of = optimizer(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        steps_of.zero_grad()
        loss = F.cross_entropy(model(data), labels)
        loss.backward()
        steps_of.step()
        losses.append(loss.item())
    return losses


def check_model(make, data, labels, optimizer, options):
    generator = torch.Generator().manual_seed(options.seed)
    data, labels = data(generator), labels(generator)
    want = train(make, optimizer, data, labels, "cpu", torch.float64)
    got = train(make, optimizer, data, labels, options.device, torch.float32)
    worst = max(abs(g - w) / max(abs(w), 1e-3) for g, w in zip(got, want))
    return f"losses {got}, want {want}" if not worst < 1e-3 else None


# --- The command.


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="exit status: 0, 1, or 77 when there is nothing to check")
    parser.add_argument("--device", default="cuda", help="as PyTorch names it (default: cuda, also for ROCm)")
    parser.add_argument("--only", default="", metavar="REGEX", help="operators and models whose name matches")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--no-models", action="store_true", help="operators only")
    parser.add_argument("--spoil", default="", metavar="NAME", help="change this operator's result: it must be found")
    return parser.parse_args()


def main():
    options = arguments()
    operators = [o for o in all_operators() if re.search(options.only, o.name)]
    chosen_models = [] if options.no_models else [m for m in models() if re.search(options.only, m[0])]
    if options.list:
        for operator in operators:
            print(f"{operator.group:12} {operator.name}")
        for name, *_ in chosen_models:
            print(f"{'model':12} {name}")
        return 0
    if options.device.startswith("cuda"):
        if not torch.cuda.is_available():
            print("SKIP: this PyTorch finds no GPU")
            return 77
        print(f"PyTorch {torch.__version__}, HIP {torch.version.hip}, {torch.cuda.get_device_name(0)}")
    failed, passed, missing = [], 0, []
    began = time.monotonic()
    checks = [(o.name, lambda o=o: check_operator(o, options), o.function is not None) for o in operators]
    checks += [(m[0], lambda m=m: check_model(*m[1:], options), True) for m in chosen_models]
    for name, check, is_there in checks:
        if not is_there:
            missing.append(name)
            continue
        try:
            wrong = check()
        except (RuntimeError, TypeError, NotImplementedError) as error:
            wrong = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        if wrong:
            failed.append(name)
            print(f"FAIL {name}: {wrong}", flush=True)
        else:
            passed += 1
    if missing:
        print(f"not in this PyTorch: {', '.join(missing)}")
    print(f"{'FAIL' if failed else 'PASS'}: {passed} of {passed + len(failed)} right, {time.monotonic() - began:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
