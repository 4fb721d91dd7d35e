"""Trains the network of the example `export` from the program that it wrote, by XLA.

    cargo run --release --example export FOLDER
    python train_digits.py FOLDER --devices 8                    # the batch is shared by 8 devices of the host
    python train_digits.py FOLDER --devices 8 --processes 2      # 4 devices in each of two processes
    python train_digits.py FOLDER --devices 8 --sharded          # by the mesh and the shardings that the program was exported with

The losses must be those of the Rust program up to rounding. The collective operations that XLA compiled are printed, and with
`--all-reduces N` must be N all-reduces and nothing else.
"""

import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
from collections import Counter

COLLECTIVE = r"= .*? (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|collective-broadcast)(?:-start)?\("


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--devices", type=int, default=1, help="in all processes together")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--sharded", action="store_true", help="the program that was exported with a mesh of 8 devices")
    parser.add_argument("--all-reduces", type=int, help="fail unless there are so many, and no other collectives")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.devices % arguments.processes:
        parser.error("each process must have as many devices")
    return arguments


def spawn(processes):
    """Runs this program in several processes, which find each other at a free port."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = lambda rank: [sys.executable, *sys.argv, "--rank", str(rank), "--port", str(port)]
    children = [subprocess.Popen(command(rank)) for rank in range(processes)]
    return max(abs(child.wait()) for child in children)


def read(folder):
    """The arrays that `data.json` lists."""
    import numpy as np

    kinds = {"f64": "<f8", "f32": "<f4", "i64": "<i8", "bool": "bool"}
    listed = json.loads((folder / "data.json").read_text())
    return {name: np.fromfile(folder / a["file"], kinds[a["dtype"]]).reshape(a["shape"]) for name, a in listed.items()}


def train(arguments):
    flags = os.environ.get("XLA_FLAGS", "")
    count = arguments.devices // arguments.processes
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={count}"
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    import polygrad_xla

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    if arguments.processes > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"localhost:{arguments.port}", arguments.processes, arguments.rank)

    data = read(arguments.folder)
    shared, replicated = PartitionSpec("batch"), PartitionSpec()
    if arguments.sharded:
        program = polygrad_xla.load(arguments.folder / "sharded.mlir")
        mesh, step = program.devices(), program.jit()
    else:
        program = polygrad_xla.load(arguments.folder / "step.mlir")
        mesh = Mesh(np.array(jax.devices()), ("batch",))
        step = program.jit(mesh, inputs={"data.0": shared, "data.1": shared})

    def place(array, spec):
        """An array on all devices, of which each process brings its own part."""
        return jax.make_array_from_callback(array.shape, NamedSharding(mesh, spec), lambda part: array[part])

    def batch(chosen):
        return {"data.0": place(data["images"][chosen], shared), "data.1": place(data["labels"][chosen], shared)}

    state = {name.removeprefix("start/"): place(a, replicated) for name, a in data.items() if name.startswith("start/")}
    compiled = step.lower({**state, **batch(data["batches"][0])}).compile()
    collectives = Counter(re.findall(COLLECTIVE, compiled.as_text()))

    losses, start = [], time.time()
    for chosen in data["batches"]:
        outputs = compiled({**state, **batch(chosen)})
        losses.append(outputs["y.0"])
        if arguments.devices > 1:
            # Devices of the host share a pool of threads: a collective of one step would wait for threads that wait in the next.
            jax.block_until_ready(outputs)
        state = {path: outputs["y.1" + path.removeprefix("x")] for path in state}
    losses = np.array([float(loss) for loss in losses])
    seconds = time.time() - start

    difference = np.max(np.abs(losses - data["losses"]) / data["losses"])
    if not arguments.rank:
        print(
            f"{arguments.devices} devices in {arguments.processes} processes: {len(losses)} steps of {1e3 * seconds / len(losses):.2f} ms, "
            f"last loss {losses[-1]:.6f}, the curves differ by {difference:.0e} of the loss at most; "
            f"collectives: {dict(collectives) or 'none'}",
            flush=True,
        )
    if not difference <= 1e-12:
        return "the losses differ from those of the Rust program by more than rounding"
    if arguments.all_reduces is not None and collectives != Counter({"all-reduce": arguments.all_reduces} if arguments.all_reduces else {}):
        return f"expected {arguments.all_reduces} all-reduces and no other collectives, but XLA compiled {dict(collectives)}"


if __name__ == "__main__":
    given = parsed()
    sys.exit(spawn(given.processes) if given.processes > 1 and given.rank is None else train(given))
