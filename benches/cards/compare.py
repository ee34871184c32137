"""The workloads on a card, by this system and by PyTorch: times, and a table of ratios.

It takes the program that `cargo bench --bench workloads --no-run` has built and needs neither cargo nor a network, so it runs where
only this folder, `../peers`, the program and a Python with torch are:

    python3 benches/cards/compare.py PROGRAM --ours cuda:0,wgpu:0 --workload W1,W7 --batch 64,1024 --out cells.jsonl

All programs of a workload are started together and stay alive, and each round runs them in turn. So compilers work side by side,
nothing else works while one is measured, and the figures of a row are from the same seconds; but first steps, in which kernels are
compiled, run beside each other. What takes longer than `--minutes` is left out, and named."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from program import Failure, Program
from table import line, table

PEERS = pathlib.Path(__file__).resolve().parent.parent / "peers"
ALL = "W1,W2,W3,W5,W6,W7,W9"
# W9 begins anew after so many steps, and has more to do in the first ones.
WHOLE = {"W9": 50}


def parse():
    several = lambda text: [part for part in text.split(",") if part]
    numbers = lambda text: [int(part) for part in several(text)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="our program, `workloads`")
    parser.add_argument("--ours", type=several, default=["cuda:0", "wgpu:0"], help="devices of our program")
    parser.add_argument("--peers", default="cuda", help="the device of PyTorch: `cuda`, `cpu` or `none`")
    parser.add_argument("--mode", type=several, default=[], help="only modes of PyTorch with one of these words, as `eager`")
    parser.add_argument("--without", type=several, default=[], help="no modes of PyTorch with one of these words, as `graphs`")
    parser.add_argument("--workload", type=several, default=several(ALL))
    parser.add_argument("--batch", type=numbers, default=[64, 1024], help="rows of a batch")
    parser.add_argument("--precision", type=several, default=["f32"], help="`f32`, `bf16`, or both")
    parser.add_argument("--tf32", action="store_true", help="PyTorch may compute products of f32 in TF32")
    parser.add_argument("--threads", type=int, default=4, help="of the processor, for each program")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median counts")
    parser.add_argument("--seconds", type=float, default=0.5, help="about what a program takes in a round")
    parser.add_argument("--starts", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="programs that start side by side")
    parser.add_argument("--patience", type=float, default=240, help="seconds after which a program that is silent is given up")
    parser.add_argument("--minutes", type=float, default=8, help="after which nothing is begun any more")
    parser.add_argument("--python", default=sys.executable, help="a Python with torch")
    parser.add_argument("--out", help="a file to which a line of JSON is added for each program")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.program).resolve()
    if arguments.ours and not os.access(program, os.X_OK):
        parser.error(f"{program} is no program")
    arguments.program = str(program)
    return arguments


def modes(arguments):
    """The modes of PyTorch for each workload."""
    if arguments.peers == "none":
        return {}
    asked = [arguments.python, PEERS / "catalogue.py", arguments.peers.split(":")[0]]
    catalogue = json.loads(subprocess.run(asked, stdout=subprocess.PIPE, check=True).stdout)
    versions = ", ".join(f"{name} {version}" for name, version in catalogue["versions"].items())
    print(f"peers: {versions or 'none'}; missing: {catalogue['missing'] or 'none'}")
    chosen = {}
    for twin in catalogue["twins"]:
        words = twin["mode"].split("+")
        wanted = not arguments.mode or set(words) & set(arguments.mode)
        if twin["framework"] == "torch" and wanted and not set(words) & set(arguments.without):
            chosen.setdefault(twin["workload"], []).append(twin["mode"])
    return chosen


def programs(arguments, workload, precision, modes):
    """What is to be measured of a workload: cells without figures, each with its command."""
    tf32 = ["--tf32"] if arguments.tf32 else []
    for batch in arguments.batch:
        cell = {"workload": workload, "batch": batch, "precision": precision}
        about = ["--batch", str(batch), "--precision", precision]
        for device in arguments.ours:
            own = cell | {"framework": "ours", "name": f"ours {device}"}
            yield own, [arguments.program, "--workload", workload, "--device", device, *about]
        for mode in modes.get(workload, []):
            words = [workload, mode, str(arguments.threads), "--device", arguments.peers, *about, *tf32]
            peer = cell | {"framework": "torch", "name": f"torch {mode}", "tf32": arguments.tf32}
            yield peer, [arguments.python, str(PEERS / "with_torch.py"), *words]


def started(arguments, cell, command):
    """The program of a cell, and how many steps a round has; none if it fails."""
    threads = {name: str(arguments.threads) for name in ("OMP_NUM_THREADS", "PADDLE_THREADS")}
    environment = threads | {"PYTHONDONTWRITEBYTECODE": "1"}
    environment["TORCHINDUCTOR_COMPILE_THREADS"] = os.environ.get("TORCHINDUCTOR_COMPILE_THREADS", "4")
    try:
        program = Program(command, environment, arguments.patience)
    except Failure as failure:
        cell["failure"] = str(failure)
        return None
    cell.update({name: value for name, value in program.ready.items() if name not in cell})
    return program


def steps_of(program, workload, seconds):
    """How many steps take about so long."""
    steps, whole = 3, WHOLE.get(workload, 1)
    while True:
        took = program.run(steps)
        enough = int(steps * seconds / max(took, 1e-9))
        if took > 0.3 * seconds or steps > 1 << 24:
            return max(1, round(enough / whole)) * whole
        steps = min(max(enough, 2 * steps), 100 * steps)


def measure(arguments, workload, group):
    """Runs the programs of a workload in turn, and writes their figures into their cells."""
    with ThreadPoolExecutor(arguments.starts) as pool:
        running = list(pool.map(lambda pair: started(arguments, *pair), group))
    alive = [(cell, program) for (cell, _), program in zip(group, running) if program]
    times, steps = {id(cell): [] for cell, _ in alive}, {}
    for turn in range(arguments.rounds):
        for cell, program in alive:
            if "failure" in cell:
                continue
            try:
                if turn == 0:
                    steps[id(cell)] = steps_of(program, workload, arguments.seconds)
                times[id(cell)].append(1e3 * program.run(steps[id(cell)]) / steps[id(cell)])
            except Failure as failure:
                cell["failure"] = str(failure)
    for cell, program in alive:
        program.close()
        if "failure" not in cell:
            taken = sorted(times[id(cell)])
            cell |= {"ms": taken[len(taken) // 2], "ms_least": taken[0], "ms_most": taken[-1], "steps": steps[id(cell)]}


def main():
    arguments, begin, cells = parse(), time.monotonic(), []
    out = open(arguments.out, "a") if arguments.out else None
    of_workload, longest = modes(arguments), 0
    for precision in arguments.precision:
        for workload in arguments.workload:
            before = time.monotonic()
            if before + longest > begin + 60 * arguments.minutes:
                print(f"\n{workload}, {precision}: left out, as time is up")
                continue
            group = list(programs(arguments, workload, precision, of_workload))
            measure(arguments, workload, group)
            took = time.monotonic() - before
            longest = max(longest, took)
            for batch in arguments.batch:
                print(f"\n{workload}, batch {batch}, {precision}; {took:.0f} s for all batches")
                print("\n".join(line(cell) for cell, _ in group if cell["batch"] == batch), flush=True)
            for cell, _ in group:
                cells.append(cell)
                if out:
                    print(json.dumps(cell), file=out, flush=True)
    print(f"\n{table(cells)}\n\n{time.monotonic() - begin:.0f} s")


main()
