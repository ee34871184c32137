"""What was measured, as lines and as a table. `table.py FILE ..` prints the table of what `compare.py` has written to files."""

import json
import sys

# From which relative difference of losses on the table says whose they are.
SUSPICIOUS = 1e-3


def milliseconds(time):
    """Three digits that count."""
    return f"{time:.3g}" if time < 100 else f"{time:.0f}"


def line(cell):
    """One program's figures."""
    name = f"  {cell['name']:<32}"
    if "failure" in cell:
        return f"{name} fails: {cell['failure']}"
    losses = f"losses {cell['loss_first']:.6f} {cell['loss_early']:.6f} {cell['loss_last']:.6f}"
    times = f"{cell['ms']:>9.4f} ms a step ({cell['ms_least']:.4f} to {cell['ms_most']:.4f})"
    return f"{name} {times}, first step {cell['first_step_ms']:.0f} ms, {losses}"


def best(cells):
    measured = [cell for cell in cells if "ms" in cell]
    return min(measured, key=lambda cell: cell["ms"], default=None)


def entry(cells, family):
    """The fastest of some programs, with the words that tell it from others of its family."""
    fastest = best(cells)
    if fastest is None:
        return "fails" if cells else "–"
    words = fastest["name"].removeprefix(family).replace("+", " ").strip()
    return f"{milliseconds(fastest['ms'])} {words}".strip()


def difference(ours, peers, loss):
    """By how much a loss of any peer is away from ours, at most."""
    if ours is None or best(peers) is None:
        return "–"
    away = lambda peer: abs(ours[loss] - peer[loss]) / abs(ours[loss])
    furthest = max((peer for peer in peers if "ms" in peer), key=away)
    whose = f" ({furthest['name']})" if not away(furthest) <= SUSPICIOUS else ""
    return f"{away(furthest):.0e}{whose}"


def table(cells):
    """Milliseconds a step in Markdown, a row for each workload, number of rows and precision. A ratio below 1 says that ours is
    faster."""
    devices = list(dict.fromkeys(cell["name"] for cell in cells if cell["framework"] == "ours"))
    families = ["torch eager", "torch compiled"]
    columns = ["workload", "batch", "precision", *devices, *families]
    columns += [f"{device} ÷ best" for device in devices] + ["losses differ by, first, 50th"]
    rows = ["| " + " | ".join(columns) + " |", "| --- " * len(columns) + "|"]
    for key in dict.fromkeys((cell["workload"], cell["batch"], cell["precision"]) for cell in cells):
        row = [cell for cell in cells if (cell["workload"], cell["batch"], cell["precision"]) == key]
        named = lambda name: [cell for cell in row if cell["name"] == name]
        peers = [cell for cell in row if cell["framework"] != "ours"]
        fields = [str(part) for part in key] + [entry(named(device), device) for device in devices]
        fields += [entry([peer for peer in peers if peer["name"].startswith(family)], family) for family in families]
        fastest = best(peers)
        for device in devices:
            ours = best(named(device))
            fields.append(f"{ours['ms'] / fastest['ms']:.2f}" if ours and fastest else "–")
        ours = best([cell for cell in row if cell["framework"] == "ours"])
        fields.append(", ".join(difference(ours, peers, loss) for loss in ("loss_first", "loss_last")))
        rows.append("| " + " | ".join(fields) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table([json.loads(line) for file in sys.argv[1:] for line in open(file)]))
