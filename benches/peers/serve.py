"""Steps on command, as `benches/workloads/serve.rs` runs them: ready with the losses of the first steps, `run N`, `quit`."""

import json
import os
import sys
import time

# The steps before the measurement, whose results are compared.
CHECKED = 50
# After how many steps what restarts begins anew.
RESTART = 50


def apart(work, clock, processor):
    """Does what no time counts for. Returns when the clocks would have begun without it."""
    before = time.perf_counter(), time.process_time()
    work()
    return clock + time.perf_counter() - before[0], processor + time.process_time() - before[1]


def serve(make, inference=False):
    """Checks and then serves the steps that `make()` returns: a function of the step's number. It gives the loss or, in
    inference, probabilities: the first class of the first two steps is compared, and the last class of the last batch. If it has
    `restart`, it begins anew from time to time, in no time that counts."""
    # What frameworks print themselves would be taken for answers.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**answer):
        print(json.dumps(answer), file=out)

    step = make()
    clock = time.perf_counter()
    results = [step(0)]
    first_step = time.perf_counter() - clock
    results += [step(at) for at in range(1, CHECKED)]
    if inference:
        first, early, last = results[0][0], results[1][0], results[7][-1]
    else:
        first, early, last = results[0], results[9], results[-1]
    losses = {"loss_first": float(first), "loss_early": float(early), "loss_last": float(last)}
    say(ready=True, **losses, first_step_ms=1e3 * first_step)
    at = CHECKED
    for line in sys.stdin:
        command = line.split()
        if command == ["quit"]:
            break
        steps = int(command[1])
        clock, processor = time.perf_counter(), time.process_time()
        for number in range(at, at + steps):
            if hasattr(step, "restart") and number % RESTART == 0:
                clock, processor = apart(step.restart, clock, processor)
            step(number)
        say(dt=time.perf_counter() - clock, cpu=time.process_time() - processor)
        at += steps
    # Threads of frameworks may not end by themselves.
    os._exit(0)
