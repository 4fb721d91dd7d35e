"""The other side of the example `gradbench`: sends the twelve problems in the sizes of GradBench, and prints what a run takes.

    python3 python/gradbench.py target/release/examples/gradbench --threads 1
    python3 python/gradbench.py --only det,lse --most 3 --seconds 0.2 target/release/examples/gradbench

The numbers are random ones of a fixed seed. Each line of the table is a size: the medians of the runs of both functions in milliseconds, their
ratio, and what recording and compiling both took. Results are compared with nothing here; the tests of the library do that.
"""

import argparse
import json
import random
import statistics
import subprocess


class Tool:
    """A process that speaks the protocol."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.count = 0

    def say(self, **message):
        message["id"] = self.count
        self.count += 1
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer["id"] != message["id"] or not answer.get("success", True):
            raise SystemExit(f"{message['kind']} {message.get('module')} {message.get('function')}: {answer.get('error')}")
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def uniform(rng, *shape):
    """Nested lists of numbers from 0 to 1."""
    if not shape:
        return rng.random()
    return [uniform(rng, *shape[1:]) for _ in range(shape[0])]


def normal(rng, *shape):
    if not shape:
        return rng.gauss(0.0, 1.0)
    return [normal(rng, *shape[1:]) for _ in range(shape[0])]


def hello(rng):
    yield "x=3", 3.0


def llsq(rng):
    for n in [16 << k for k in range(9)] + [8196, 16392]:
        yield f"n={n},m=128", {"x": uniform(rng, 128), "n": n}


def lse(rng):
    for k in range(10):
        n = 2500 << k
        yield f"n={n}", {"x": uniform(rng, n)}


def det(rng):
    for ell in range(5, 12):
        yield f"ell={ell}", {"A": uniform(rng, ell * ell), "ell": ell}


def ode(rng):
    sizes = [(n, s) for n in (1000, 10000, 100000) for s in (1, 10, 100)]
    for n, s in sorted(sizes, key=lambda size: size[0] * size[1]):
        yield f"n={n},s={s}", {"x": uniform(rng, n), "s": s}


def kmeans(rng):
    sizes = [(k, n, d) for k in (10, 100, 1000) for n in (1000, 10000) for d in (8, 16) if k < n]
    for k, n, d in sorted(sizes, key=lambda size: size[0] * size[1] * size[2]):
        points = uniform(rng, n, d)
        yield f"k={k},n={n},d={d}", {"points": points, "centroids": points[-k:]}


def gmm(rng):
    n = 1000
    sizes = [(d, k) for d in (2, 10, 20, 32, 64) for k in (5, 10, 25, 50, 100)]
    for d, k in sorted(sizes, key=lambda size: size[0] * size[1]):
        parameters = {"alpha": normal(rng, k), "mu": uniform(rng, k, d), "q": normal(rng, k, d)}
        below = normal(rng, k, d * (d - 1) // 2)
        yield f"{d}_{k}_{n}", {"d": d, "k": k, "n": n, "x": normal(rng, n, d), "m": 0, "gamma": 1.0, "l": below, **parameters}


def lstm(rng):
    b = 14
    for layers in (2, 4, 6):
        for c in (1024, 4096, 8192):
            text = [[float(rng.random() < 0.3) for _ in range(b)] for _ in range(c)]
            yield f"l={layers},c={c}", {
                "main_params": uniform(rng, 2 * layers, 4 * b),
                "extra_params": uniform(rng, 3, b),
                "state": uniform(rng, 2 * layers, b),
                "sequence": text,
            }


SCENES = [
    (49, 7776, 31843), (21, 11315, 36455), (161, 48126, 182072), (372, 47423, 204472), (257, 65132, 225911),
    (539, 65220, 277273), (93, 61203, 287451), (88, 64298, 383937), (810, 88814, 393775), (1197, 126327, 563734),
    (1723, 156502, 678718), (253, 163691, 899155), (245, 198739, 1091386), (356, 226730, 1255268),
]


def ba(rng):
    turn, centre = [-0.758453, -1.109613, -0.845551], [34.556073, 39.676747, 53.881673]
    cam = turn + centre + [419.194514, 5.864426, -8.518870, 0.087812, 0.002739]
    rest = {"cam": cam, "x": [7.203245, 0.001144, 3.023326], "w": 0.417022, "feat": [271.760969, 834.209256]}
    for k, (n, m, p) in enumerate(SCENES):
        yield f"ba{k + 1}_n{n}_m{m}_p{p}", {"n": n, "m": m, "p": p, **rest}


def ht(rng):
    parents = [-1] + [0 if k % 4 == 0 else 4 * (j := k // 4) + k % 4 for k in range(20)] + [0]
    bones, vertices, triangles = len(parents), 10000, 1084
    placed = lambda sign: [
        [[1.0, 0.0, 0.0, sign * 0.1], [0.0, 1.0, 0.0, sign * 0.02 * b], [0.0, 0.0, 1.0, -sign * 0.03], [0.0, 0.0, 0.0, 1.0]]
        for b in range(bones)
    ]
    model = {
        "bone_count": bones,
        "bone_names": [f"bone {b}" for b in range(bones)],
        "parents": parents,
        "base_relatives": placed(1.0),
        "inverse_base_absolutes": placed(-1.0),
        "base_positions": [uniform(rng, 3) + [1.0] for _ in range(vertices)],
        "weights": uniform(rng, vertices, bones),
        "triangles": [[rng.randrange(vertices) for _ in range(3)] for _ in range(triangles)],
        "is_mirrored": False,
    }
    for p in [100, 192, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 100000]:
        data = {"model": model, "correspondences": [rng.randrange(triangles) for _ in range(p)], "points": uniform(rng, p, 3)}
        yield f"hand_t26_c{p}", {"theta": uniform(rng, 26), "us": uniform(rng, p, 2), "data": data}


def particle(rng):
    yield "w=0", {"w": 0.0}


def saddle(rng):
    yield "start=[1,1]", {"start": [1.0, 1.0]}


MODES = [("ff", "fr"), ("rf", "rr")]
PROBLEMS = {
    "hello": (hello, [("square", "double")]),
    "llsq": (llsq, [("primal", "gradient")]),
    "lse": (lse, [("primal", "gradient")]),
    "det": (det, [("primal", "gradient")]),
    "ode": (ode, [("primal", "gradient")]),
    "kmeans": (kmeans, [("cost", "dir")]),
    "gmm": (gmm, [("objective", "jacobian")]),
    "lstm": (lstm, [("objective", "jacobian")]),
    "ba": (ba, [("objective", "jacobian")]),
    "ht": (ht, [("objective", "jacobian")]),
    "particle": (particle, MODES),
    "saddle": (saddle, MODES),
}


def row(tool, module, functions, size, given, arguments):
    """Runs both functions, and prints what they took."""
    runs = {"min_runs": arguments.runs, "min_seconds": arguments.seconds}
    given = {**given, **runs} if isinstance(given, dict) else given
    medians, ready = [], 0.0
    for function in functions:
        answer = tool.say(kind="evaluate", module=module, function=function, input=given, description=size)
        took = {}
        for timing in answer["timings"]:
            took.setdefault(timing["name"], []).append(timing["nanoseconds"] / 1e6)
        medians.append(statistics.median(took["evaluate"]))
        ready += sum(took.get("trace", [])) + sum(took.get("compile", []))
    first, second = medians
    names = "/".join(functions)
    print(f"| {module} {names} | {size} | {first:.4g} | {second:.4g} | {second / max(first, 1e-9):.2f} | {ready:.3g} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PROBLEMS), help="names of problems, with commas")
    parser.add_argument("--most", type=int, default=1000, help="so many sizes of each problem, the smallest ones")
    parser.add_argument("--last", action="store_true", help="the largest size of each problem alone")
    parser.add_argument("--seconds", type=float, default=1.0, help="each function runs for so long")
    parser.add_argument("--runs", type=int, default=3, help="each function runs so often at least")
    parser.add_argument("tool", nargs=argparse.REMAINDER, help="the process and its arguments")
    arguments = parser.parse_args()
    print("| problem | size | ms | ms of the derivative | ratio | ms to record and compile |")
    print("|---|---|---|---|---|---|")
    for module in arguments.only.split(","):
        sizes, pairs = PROBLEMS[module]
        tool = Tool(arguments.tool)
        tool.say(kind="start", eval=module)
        tool.say(kind="define", module=module)
        every = list(sizes(random.Random(1)))[: arguments.most]
        for size, given in every[-1:] if arguments.last else every:
            for functions in pairs:
                row(tool, module, functions, size, given, arguments)
        tool.end()


if __name__ == "__main__":
    main()
