#!/usr/bin/env python3
"""Writes a HIP program of random kernels for harness.h.

    generate.py --seed 7 --kernels 120 --output batch.hip     a batch; kernel k has seed 7 * 100000 + k
    generate.py --only 700042 --output one.hip                that kernel alone, for a failure to be looked into
    generate.py --special …                                   with the operations of special.h among the others
    generate.py --images …                                    with those of images.h as well

The same seed always gives the same text. The language that is generated (see harness.h) has no undefined
behaviour and no operation whose result IEEE 754 leaves open, so host and device must agree in every bit.
"""
import argparse
import random

# Variables of State by type.
VARIABLES = {
    "int32_t": ["s.i0", "s.i1", "s.i2", "s.i3"],
    "uint32_t": ["s.u0", "s.u1", "s.u2", "s.u3"],
    "int64_t": ["s.l0", "s.l1"],
    "uint64_t": ["s.q0", "s.q1"],
    "float": ["s.f0", "s.f1", "s.f2"],
    "double": ["s.d0", "s.d1"],
    "_Float16": ["s.h0", "s.h1"],
}
INTEGERS = ["int32_t", "uint32_t", "int64_t", "uint64_t"]
WEIGHTS = {"int32_t": 5, "uint32_t": 5, "int64_t": 3, "uint64_t": 2, "float": 5, "double": 3, "_Float16": 2}
UNSIGNED = {"int32_t": "uint32_t", "uint32_t": "uint32_t", "int64_t": "uint64_t", "uint64_t": "uint64_t"}
INT_CONSTANTS = ["0", "1", "2", "3", "5", "7", "16", "31", "32", "100", "255", "1000", "0x7fff", "0x8000", "65535",
                 "0x7fffffff", "0x12345678", "0xff00ff"]
FLOAT_CONSTANTS = ["0.0", "1.0", "-1.0", "0.5", "2.0", "-3.0", "0.1", "1.5", "100.0", "0.0078125", "-0.75", "1e-3"]
BLOCKS = [32, 64, 128, 96, 100, 40, 7, 33]


class Kernel:
    """One kernel: functions, phases, exchanges, and the texts of its device and host sides."""

    def __init__(self, seed, special=False, images=False):
        self.seed = seed
        special = special or images
        self.special, self.images = special, images
        self.random = random.Random(seed)
        self.block = self.random.choice([64, 128, 64, 32, 96] if special else BLOCKS)
        self.blocks = self.random.randint(1, 3)
        self.functions = []
        self.locals = []
        self.loops = 0

    # Expressions -------------------------------------------------------------------------------------

    def pick(self, choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def type(self):
        return self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]

    def variable(self, kind):
        names = VARIABLES[kind] + [name for name, local in self.locals if local == kind]
        return self.pick(names)

    def condition(self, depth):
        roll = self.random.random()
        if depth > 0 and roll < 0.15:
            return f"({self.condition(depth - 1)} {self.pick(['&&', '||'])} {self.condition(depth - 1)})"
        if roll < 0.25:
            return f"(({self.expression('uint32_t', depth - 1)} >> {self.random.randint(0, 31)} & 1) != 0)"
        kind = self.pick(INTEGERS + ["float", "float", "double", "_Float16"])
        operator = self.pick(["<", "<=", "==", "!=", ">", ">="])
        return f"({self.expression(kind, depth - 1)} {operator} {self.expression(kind, depth - 1)})"

    def expression(self, kind, depth):
        if depth <= 0:
            if self.chance(0.25):
                return self.constant(kind)
            return self.variable(kind)
        if self.chance(0.1):
            return f"({self.condition(depth - 1)} ? {self.expression(kind, depth - 1)} : {self.expression(kind, depth - 1)})"
        if kind in INTEGERS:
            return self.integer(kind, depth)
        if kind == "_Float16":
            return self.half(depth)
        return self.real(kind, depth)

    def constant(self, kind):
        if kind in INTEGERS:
            return f"static_cast<{kind}>({self.pick(INT_CONSTANTS)})"
        if kind == "_Float16":
            return f"static_cast<_Float16>({self.pick(FLOAT_CONSTANTS)}f)"
        return self.pick(FLOAT_CONSTANTS) + ("f" if kind == "float" else "")

    def integer(self, kind, depth):
        if self.special and self.chance(0.4):
            return f"static_cast<{kind}>({self.special_integer(depth)})"
        wide = kind in ("int64_t", "uint64_t")
        plain = UNSIGNED[kind]
        a = self.expression(kind, depth - 1)
        b = self.expression(kind, depth - 1)
        roll = self.random.randint(0, 22)
        if roll < 8:  # wrap-around arithmetic through the unsigned type
            operator = self.pick(["+", "-", "*", "&", "|", "^", "+"])
            return f"static_cast<{kind}>(static_cast<{plain}>({a}) {operator} static_cast<{plain}>({b}))"
        if roll < 10:
            operator = self.pick(["<<", ">>"])
            mask = 63 if wide else 31
            left = f"static_cast<{plain}>({a})" if operator == "<<" else f"({a})"
            return f"static_cast<{kind}>({left} {operator} (static_cast<uint32_t>({b}) & {mask}))"
        if roll == 10:
            return f"safe_{self.pick(['div', 'mod'])}<{kind}>({a}, {b})"
        if roll == 11:
            return f"safe_{self.pick(['div', 'mod'])}<{kind}>({a}, static_cast<{kind}>({self.pick(['3', '7', '10', '16', '641'])}))"
        if roll == 12:
            return f"static_cast<{kind}>(~({a}))"
        if roll == 13:  # sub-word values
            narrow = self.pick(["int8_t", "uint8_t", "int16_t", "uint16_t"])
            other = self.pick(["int8_t", "uint8_t", "int16_t", "uint16_t"])
            operator = self.pick(['+', '-', '*'])
            if operator == '*':  # two 16-bit factors promote to int and may overflow it
                return f"static_cast<{kind}>(int64_t{{static_cast<{narrow}>({a})}} * static_cast<{other}>({b}))"
            return f"static_cast<{kind}>(static_cast<{narrow}>({a}) {operator} static_cast<{other}>({b}))"
        if roll == 14:
            source = self.pick([k for k in INTEGERS if k != kind])
            return f"static_cast<{kind}>({self.expression(source, depth - 1)})"
        if roll == 15:
            u = self.expression("uint32_t", depth - 1)
            v = self.expression("uint32_t", depth - 1)
            function = self.pick([f"mul_high({u}, {v})", f"rotate({u}, {v})", f"leading_zeros({u})",
                                  f"static_cast<uint32_t>(__builtin_popcount({u}))", f"bits_of({self.expression('float', depth - 1)})"])
            return f"static_cast<{kind}>({function})"
        if roll == 16:
            source = {"int32_t": f"to_i32({self.expression(self.pick(['float', 'double']), depth - 1)})",
                      "uint32_t": f"to_u32({self.expression('float', depth - 1)})"}.get(
                          kind, f"to_i64({self.expression('double', depth - 1)})")
            return f"static_cast<{kind}>({source})"
        if roll == 17:
            return f"static_cast<{kind}>({self.condition(depth - 1)})"
        if roll == 18:
            low, high = (a, b) if self.chance(0.5) else (b, a)
            return f"({low} < {high} ? {a} : {b})"
        if roll == 19:
            return self.load(kind, depth)
        if roll == 20 and self.functions and kind == "uint32_t":
            return self.call(depth)
        if roll == 21:
            return f"static_cast<{kind}>(static_cast<{plain}>({a}) >> {self.random.randint(0, 24)} & {self.pick(['0xff', '0x1f', '0xffff', '1'])})"
        return f"static_cast<{kind}>(static_cast<{plain}>({a}) * {self.random.randint(2, 100)}u + static_cast<{plain}>({b}))"

    def image_integer(self, depth):
        a, b = (self.expression("uint32_t", depth - 1) for _ in range(2))
        if self.chance(0.5):
            texels = self.pick(["kUnorm8", "kSnorm8", "kUint8", "kSint8", "kUnorm16", "kHalf16", "kUint32", "kFloat32"])
            x, y = self.pick([(f"{a} % 70u", f"{b} % 5u"), (f"{a} % 64u", f"{b} % 4u"), (a, f"{b} % 4u"), (f"{a} % 64u", f"0u - {b} % 3u")])
            return f"image_load<Texels::{texels}>(env.in, {self.random.randint(1, 4)}u, {x}, {y})"
        edge = self.pick(["kWrap", "kMirror", "kLastTexel", "kBorder"])
        kind = self.pick(["kNearest", "kLinear", "kGather"])
        return f"image_sample<Edge::{edge}, Filter::{kind}, {self.random.randint(0, 3)}>(env.in, {self.pick([1, 2, 4])}u, {a}, {b})"

    def own_texel(self, value):
        """A texel of the lane's own slot, which is an eighth of a row."""
        return f"env.lane % 8 * 8 + {value} % 8u, env.lane / 8"

    def special_integer(self, depth):
        if self.images and self.chance(0.6):
            return self.image_integer(depth)
        a, b, c = (self.expression("uint32_t", depth - 1) for _ in range(3))
        roll = self.random.randint(0, 10)
        if roll < 4:
            return self.pick([f"words_add({a}, {b})", f"words_sub_crossed({a}, {b})", f"words_mul_add({a}, {b}, {c})",
                              f"words_max({a}, {b})", f"words_shift({a}, {b})", f"bytes_mix({a}, {b})"])
        if roll == 4:
            return f"byte_times_word({a}, {b}, {self.random.randint(0, 3)}, {self.random.randint(0, 1)})"
        if roll == 5:
            selectors = "".join(self.pick(["00", "01", "02", "03", "04", "05", "06", "07", "0c", "0d"]) for _ in range(4))
            return f"permute_bytes({a}, {b}, 0x{selectors}u)"
        if roll < 8:
            return f"load_half({a}, env.in, {b} % 512u, {self.pick(['true', 'false'])})"
        return f"buffer_load<{self.random.randint(1, 4)}>(env.in, 1024u, {self.buffer_offset(b)})"

    def buffer_offset(self, value):
        """Inside, across the end, or right before the end of all addresses."""
        return self.pick([f"({value} % 256u * 4)", f"(1000 + {value} % 8u * 4)", f"(0u - 1 - ({value} & 15))", "0xffffffffu"])

    def special_real(self, depth):
        a, b, c, d = (self.expression("float", depth - 1) for _ in range(4))
        first = f"Pair{{{a}, {b}}}" + self.pick(["", ".yx", ".xx", ".yy"])
        second = self.pick(["", "-"]) + f"Pair{{{c}, {d}}}" + self.pick(["", ".yx", ".xx"])
        third = self.pick([f"Pair{{{b}, {c}}}", f"-Pair{{{d}, {a}}}", "Pair{1.0f, -0.5f}"])
        return self.pick([f"fold({first} * {second})", f"fold({first} + {second})", f"fold(pair_fma({first}, {second}, {third}))"])

    def load(self, kind, depth):
        width, narrow = self.pick([(4, "uint32_t"), (4, "int32_t"), (2, "int16_t"), (2, "uint16_t"), (1, "uint8_t"), (1, "int8_t"),
                                   (8, "uint64_t")])
        index = self.expression("uint32_t", depth - 1)
        return f"static_cast<{kind}>(load<{narrow}>(env.in, {index} % {1024 // width}u))"

    def call(self, depth):
        return (f"call_{self.random.randrange(len(self.functions))}({self.expression('uint32_t', depth - 1)}, "
                f"{self.expression('int64_t', depth - 1)}, {self.expression('float', depth - 1)}, env)")

    def real(self, kind, depth):
        if self.special and kind == "float" and self.chance(0.4):
            return self.special_real(depth)
        suffix = "f" if kind == "float" else ""
        a = self.expression(kind, depth - 1)
        b = self.expression(kind, depth - 1)
        roll = self.random.randint(0, 15)
        if roll < 6:
            return f"({a} {self.pick(['+', '-', '*', '+', '*', '/'])} {b})"
        if roll == 6:
            return f"(-({a}))"
        if roll == 7:
            return f"__builtin_fabs{suffix}({a})"
        if roll == 8:
            return f"__builtin_fma{suffix}({a}, {b}, {self.expression(kind, depth - 1)})"
        if roll == 9:
            return f"__builtin_sqrt{suffix}(__builtin_fabs{suffix}({a}))"
        if roll == 10:
            return f"__builtin_{self.pick(['floor', 'ceil', 'trunc', 'rint'])}{suffix}({a})"
        if roll == 11:
            return f"static_cast<{kind}>({self.expression(self.pick(INTEGERS), depth - 1)})"
        if roll == 12:
            other = "double" if kind == "float" else "float"
            return f"static_cast<{kind}>({self.expression(other, depth - 1)})"
        if roll == 13:
            return f"static_cast<{kind}>({self.expression('_Float16', depth - 1)})"
        if roll == 14:
            # Compilers make this a minimum, which may take either of two zeros: adding 0 makes them one.
            return f"(({a} < {b} ? {a} : {b}) + 0.0{suffix})"
        return f"({a} * {self.pick(['0.5', '0.25', '0.0625', '-0.125'])}{suffix})"

    def half(self, depth):
        if self.special and self.chance(0.4):
            return f"halves_fold({', '.join(self.expression('_Float16', depth - 1) for _ in range(4))})"
        # One operation at a time, each rounded: no excess precision on any host.
        a = self.expression("_Float16", depth - 1)
        roll = self.random.randint(0, 6)
        if roll < 4:
            b = self.expression("_Float16", depth - 1)
            return f"static_cast<_Float16>({a} {self.pick(['+', '-', '*'])} {b})"
        if roll == 4:
            return f"static_cast<_Float16>(-({a}))"
        if roll == 5:
            return f"to_half({self.expression('float', depth - 1)})"
        return f"static_cast<_Float16>(static_cast<float>({self.expression('int32_t', depth - 1)} & 1023))"

    # Statements --------------------------------------------------------------------------------------

    def assignment(self, indent):
        kind = self.type()
        target = self.variable(kind)
        if kind in INTEGERS and self.chance(0.2):
            plain = UNSIGNED[kind]
            return [f"{indent}{target} = static_cast<{kind}>(static_cast<{plain}>({target}) + "
                    f"static_cast<{plain}>({self.expression(kind, 2)}));"]
        return [f"{indent}{target} = {self.expression(kind, self.random.randint(1, 3))};"]

    def statement(self, indent, depth, in_loop):
        if self.images and self.chance(0.1):
            texel = self.own_texel(self.expression("uint32_t", 1))
            texel = self.pick([texel, texel, texel + " + 0x10000u"])  # below the image: nothing is there
            value = self.expression("uint32_t", 2)
            if self.chance(0.5):
                return [f"{indent}image_store(env.all_slots, env.all_bytes / 256, {texel}, {value});"]
            return [f"{indent}{self.variable('uint32_t')} = image_add(env.all_slots, env.all_bytes / 256, {texel}, {value});"]
        if self.special and self.chance(0.1):
            dwords = self.pick([2, 4])
            value = self.expression("uint32_t", 1)
            inside = f"env.lane * kSlotBytes + {value} % {kSlotBytes // 4 - dwords + 1}u * 4"
            offset = self.pick([inside, inside, f"0u - 1 - ({value} & 15)", "0xffffffffu"])
            return [f"{indent}buffer_store<{dwords}>(env.all_slots, env.all_bytes, {offset}, {self.expression('uint32_t', 2)});"]
        roll = self.random.random()
        if depth > 0 and roll < 0.16:
            lines = [f"{indent}if ({self.condition(2)}) {{"] + self.statements(indent + "  ", depth - 1, in_loop)
            if self.chance(0.5):
                lines += [f"{indent}}} else {{"] + self.statements(indent + "  ", depth - 1, in_loop)
            return lines + [f"{indent}}}"]
        if depth > 0 and roll < 0.24:
            self.loops += 1
            name = f"n{self.loops}"
            lines = [f"{indent}for (uint32_t {name} = 0; {name} < ({self.expression('uint32_t', 1)} & 7); ++{name}) {{"]
            lines += self.statements(indent + "  ", depth - 1, True)
            lines += [f"{indent}  s.u{self.random.randint(0, 3)} ^= {name};"]
            # The bound is evaluated anew each turn; a second counter keeps every loop finite.
            lines += [f"{indent}  if ({name} > 9) break;", f"{indent}}}"]
            return lines
        if depth > 0 and roll < 0.29:
            lines = [f"{indent}switch (below(5, {self.expression('uint32_t', 1)})) {{"]
            for value in range(self.random.randint(2, 5)):
                lines += [f"{indent}  case {value}:"] + self.statements(indent + "    ", depth - 1, False)
                if self.chance(0.75):
                    lines += [f"{indent}    break;"]
            return lines + [f"{indent}  default:", f"{indent}    s.i1 ^= 1;", f"{indent}}}"]
        if roll < 0.36:
            narrow, width = self.pick([("uint8_t", 1), ("uint16_t", 2), ("uint32_t", 4), ("uint64_t", 8)])
            return [f"{indent}store<{narrow}>(env.slots, {self.expression('uint32_t', 1)} % {kSlotBytes // width}u, "
                    f"static_cast<{narrow}>({self.expression('uint64_t', 2)}));"]
        if roll < 0.41:
            narrow, width = self.pick([("uint8_t", 1), ("int16_t", 2), ("uint32_t", 4), ("uint64_t", 8)])
            kind = self.pick(INTEGERS)
            return [f"{indent}{self.variable(kind)} = static_cast<{kind}>(load<{narrow}>(env.slots, "
                    f"{self.expression('uint32_t', 1)} % {kSlotBytes // width}u));"]
        if roll < 0.44:
            return [f"{indent}count(env, {self.expression('uint32_t', 1)}, {self.expression('uint32_t', 1)});"]
        if roll < 0.50:
            return [f"{indent}table[below(9, {self.expression('uint32_t', 1)})] = {self.expression('uint32_t', 2)};"]
        if roll < 0.56:
            return [f"{indent}{self.variable('uint32_t')} = table[below(9, {self.expression('uint32_t', 1)})] + {self.expression('uint32_t', 1)};"]
        if in_loop and roll < 0.58:
            return [f"{indent}if ({self.condition(1)}) {self.pick(['break', 'continue'])};"]
        return self.assignment(indent)

    def statements(self, indent, depth, in_loop):
        lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(indent, depth, in_loop)
        return lines

    # Kernels -----------------------------------------------------------------------------------------

    def function(self, index):
        """A function that is really called; its parameters shadow some of State's variables."""
        body = [f"WT_CALL uint32_t call_{index}(uint32_t a, int64_t b, float c, const Env& env) {{"]
        body += ["  State s;", "  start(s, env.in, below(61, a));", "  uint32_t table[9] = {a, 1, 2, 3, 4, 5, 6, 7, 8};"]
        self.locals = [("a", "uint32_t"), ("b", "int64_t"), ("c", "float")]
        body += self.statements("  ", 1, False)
        body += self.statements("  ", 1, False)
        self.locals = []
        body += ["  return s.u0 ^ s.u1 ^ static_cast<uint32_t>(s.i0) ^ static_cast<uint32_t>(s.q0 >> 13) ^ bits_of(s.f0) ^ table[below(9, a)];", "}"]
        return body

    def phase(self, index):
        body = [f"WT_BOTH inline void phase_{index}(State& s, const Env& env) {{"]
        body += ["  uint32_t table[9] = {s.u0, s.u1, 3, 5, 8, 13, 21, 34, 55};"]
        for _ in range(self.random.randint(1, 3)):
            body += self.statements("  ", 2, False)
        return body + [f"  s.u{self.random.randint(0, 3)} += table[below(9, s.u0)];", "}"]

    def exchange(self):
        """Device lines and the host's line of one exchange between lanes."""
        kind = self.pick(["int32_t", "uint32_t", "uint64_t", "float", "double"])
        source, target = (self.pick(VARIABLES[kind]) for _ in range(2))
        members = f"&State::{source[2:]}, &State::{target[2:]}"
        if self.special and self.chance(0.7):
            return self.special_exchange()
        # Shuffles need every lane of the group they work in.
        choices = ["lds", "lds", "ballot"] + (["xor", "up", "index"] if self.block % 32 == 0 else [])
        choice = self.pick(choices)
        scale, shift = self.pick([1, 3, 5, 7]), self.random.randint(0, 50)
        width = self.pick([8, 16, 32])
        shuffled = "unsigned long long" if kind == "uint64_t" else kind
        if choice == "lds":
            device = [f"  store<{kind}>(lds, threadIdx.x, {source});", "  __syncthreads();",
                      f"  {target} = load<{kind}>(lds, (threadIdx.x * {scale} + {shift}) % {self.block});", "  __syncthreads();"]
            return device, f"block.exchange({members}, {scale}, {shift});"
        if choice == "ballot":
            vote, mask = self.pick(VARIABLES["int32_t"]), self.pick(VARIABLES["uint32_t"])
            return [f"  {mask} = ballot_of_32({vote} > 0);"], f"block.ballot(&State::{vote[2:]}, &State::{mask[2:]});"
        if choice == "xor":
            mask = self.random.randint(0, width - 1)
            return ([f"  {target} = __shfl_xor(static_cast<{shuffled}>({source}), {mask}, {width});"],
                    f"block.shuffle_xor({members}, {mask}, {width});")
        if choice == "up":
            delta = self.random.randint(0, width - 1)
            return ([f"  {target} = __shfl_up(static_cast<{shuffled}>({source}), {delta}, {width});"],
                    f"block.shuffle_up({members}, {delta}, {width});")
        return ([f"  {target} = __shfl(static_cast<{shuffled}>({source}), static_cast<int>((threadIdx.x * {scale} + {shift}) % {width}), {width});"],
                f"block.shuffle_index({members}, {scale}, {shift}, {width});")

    def special_exchange(self):
        """DPP within rows of 16, or a matrix tile, of complex numbers or halves, for every 64 lanes."""
        source, target = self.random.sample(VARIABLES["uint32_t"], 2)
        if self.block % 64 == 0 and self.chance(0.5):
            result, of_halves = self.pick(VARIABLES["float"]), self.chance(0.5)
            function = "half_tile_product" if of_halves else "tile_product"
            return ([f"  {result} = {function}({source}, {target}, reinterpret_cast<uint32_t*>(lds));"],
                    f"block.tile(&State::{source[2:]}, &State::{target[2:]}, &State::{result[2:]}, {'true' if of_halves else 'false'});")
        control = self.pick([self.random.randint(0, 0xff), 0x100 + self.random.randint(1, 15), 0x110 + self.random.randint(1, 15),
                             0x120 + self.random.randint(1, 15), 0x140, 0x141])
        return ([f"  {target} = __builtin_amdgcn_update_dpp({target}, {source}, {control:#x}, 0xf, 0xf, false);"],
                f"block.dpp(&State::{source[2:]}, &State::{target[2:]}, {control:#x});")

    def text(self):
        functions = []
        for index in range(self.random.randint(0, 2)):
            functions += self.function(index)
            self.functions.append(index)
        phases = []
        count = self.random.randint(2, 3)
        for index in range(count):
            phases += self.phase(index)
        device = [f"__global__ void kernel(const uint32_t* in, State* out, uint8_t* slots, uint32_t* counters) {{",
                  f"  __shared__ uint64_t lds[{self.block}];", "  (void)lds;",
                  f"  const uint32_t lane = blockIdx.x * {self.block} + threadIdx.x;",
                  f"  const Env env = {{in, slots + lane * kSlotBytes, counters, lane{', slots, ' + str(self.block * self.blocks * kSlotBytes) if self.special else ''}}};",
                  "  State s;", "  start(s, in, lane);"]
        host = ["void host(const uint32_t* in, State* out, uint8_t* slots, uint32_t* counters) {",
                f"  for (uint32_t first = 0; first < {self.block * self.blocks}; first += {self.block}) {{",
                f"    const Block block = {{out + first, {self.block}}};",
                "    const auto each = [&](void (*phase)(State&, const Env&)) {",
                f"      for (uint32_t lane = first; lane < first + {self.block}; ++lane) phase(out[lane], {{in, slots + lane * kSlotBytes, counters, lane, slots, {self.block * self.blocks * kSlotBytes}}});",
                "    };",
                f"    for (uint32_t lane = first; lane < first + {self.block}; ++lane) start(out[lane], in, lane);"]
        for index in range(count):
            device += [f"  phase_{index}(s, env);"]
            host += [f"    each(phase_{index});"]
            if index + 1 < count:
                device_lines, host_line = self.exchange()
                device += device_lines
                host += [f"    {host_line}"]
        device += ["  make_nans_uniform(s);", "  out[lane] = s;", "}"]
        host += [f"    for (uint32_t lane = first; lane < first + {self.block}; ++lane) make_nans_uniform(out[lane]);", "  }", "}"]
        launch = ["void launch(const uint32_t* in, State* out, uint8_t* slots, uint32_t* counters) {",
                  f"  kernel<<<{self.blocks}, {self.block}>>>(in, out, slots, counters);", "}"]
        return "\n".join(functions + phases + device), "\n".join(host + launch)


kSlotBytes = 32


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="base seed of the batch")
    parser.add_argument("--kernels", type=int, default=120)
    parser.add_argument("--special", action="store_true", help="use the operations of special.h")
    parser.add_argument("--images", action="store_true", help="use those of images.h as well")
    parser.add_argument("--only", type=int, help="seed of the only kernel to write")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    seeds = [arguments.only] if arguments.only is not None else [arguments.seed * 100000 + k for k in range(arguments.kernels)]
    lines = [f"// Generated by tests/random/generate.py, base seed {arguments.seed}.", '#include "harness.h"', "",
             "// The host's results are the same at any level, and half of the time to compile went into optimising them.",
             "#ifndef __HIP_DEVICE_COMPILE__", "#pragma clang optimize off", "#endif", ""]
    cases = []
    for seed in seeds:
        kernel = Kernel(seed, arguments.special, arguments.images)
        shown, hidden = kernel.text()
        lines += [f"namespace k{seed} {{", shown, hidden, f'const char kSource[] = R"wt({shown})wt";', f"}}  // namespace k{seed}", ""]
        cases += [f"    {{{seed}, {kernel.block}, {kernel.blocks}, k{seed}::launch, k{seed}::host, k{seed}::kSource}},"]
    lines += ["const Case kCases[] = {"] + cases + ["};", ""]
    lines += [f"int main(int argc, char** argv) {{ return run_all(kCases, {len(seeds)}, {arguments.seed}, argc, argv); }}"]
    with open(arguments.output, "w", encoding="utf-8") as output:
        output.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
