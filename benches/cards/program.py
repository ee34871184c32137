"""A program that runs steps of a workload on command; `../workloads/serve.rs` has the protocol."""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time


class Failure(Exception):
    """Why nothing was measured."""


class Program:
    """A process that waits for commands until it is closed."""

    def __init__(self, command, environment, patience):
        self.patience, self.answers, self.complaints = patience, queue.Queue(), tempfile.TemporaryFile()
        begin = time.monotonic()
        try:
            # Compilers start processes of their own, which end with the group.
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.complaints, text=True,
                env=os.environ | environment | {"PEER_SERVE": "1"}, start_new_session=True,
            )
        except OSError as error:
            raise Failure(f"it cannot be started: {error}") from error
        threading.Thread(target=self.listen, daemon=True).start()
        try:
            self.ready = self.answer("loss_last")
        except Failure:
            self.close()
            raise
        self.ready["start_s"] = time.monotonic() - begin

    def listen(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def run(self, steps):
        """The seconds that so many steps take."""
        try:
            self.process.stdin.write(f"run {steps}\n")
            self.process.stdin.flush()
        except OSError:
            # It has ended; what it said last tells why.
            pass
        return self.answer("dt")["dt"]

    def answer(self, member):
        """The next line of JSON that has this member. Other lines are what libraries print."""
        end = time.monotonic() + self.patience
        while True:
            try:
                line = self.answers.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                raise Failure(f"no answer in {self.patience:.0f} s") from None
            if line is None:
                raise Failure(self.complaint())
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict) and member in answer:
                return answer

    def complaint(self):
        """The last line that speaks of an error, or else the last one."""
        self.complaints.seek(0)
        lines = [line.strip() for line in self.complaints.read().decode(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        return (errors or lines or ["it has ended without a word"])[-1]

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
