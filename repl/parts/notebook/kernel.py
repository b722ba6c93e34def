# SPDX-License-Identifier: MIT
"""The Jupyter kernel: passes requests to a running lpfm, in which repl/parts/notebook/serve.lua answers them."""
import ctypes
import json
import os
import re
import selectors
import signal
import subprocess
import threading

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

PROGRAM = os.environ.get("LPFM_PROGRAM", "lpfm")
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)


def end_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Program:
    """An lpfm that answers requests; put(stream name, text) is called with the output of it and its children."""

    def __init__(self, put):
        self.put = put
        ask, self.requests = os.pipe()
        self.answers, say = os.pipe()
        code = 'os.exit(require("repl.parts.notebook.serve").main(%d, %d))' % (ask, say)
        self.process = subprocess.Popen(
            [PROGRAM, "-e", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=(ask, say), start_new_session=True, preexec_fn=end_with_parent, env=dict(os.environ, NO_COLOR="1"))
        os.close(ask)
        os.close(say)
        self.streams = {"stdout": self.process.stdout, "stderr": self.process.stderr}
        for stream in self.streams.values():
            os.set_blocking(stream.fileno(), False)
        self.handing_on = threading.Lock()
        threading.Thread(target=self.pump, daemon=True).start()

    def hand_on(self, name):
        """Passes available output to put(); returns false at end of file."""
        with self.handing_on:  # held until put() returns: then a caller that finds no output knows that all was sent
            while True:
                try:
                    text = os.read(self.streams[name].fileno(), 65536)
                except BlockingIOError:
                    return True
                if not text:
                    return False
                self.put(name, text.decode(errors="replace"))

    def pump(self):
        with selectors.DefaultSelector() as selector:
            for name, stream in self.streams.items():
                selector.register(stream, selectors.EVENT_READ, name)
            while selector.get_map():
                for key, _ in selector.select():
                    if not self.hand_on(key.data):
                        selector.unregister(key.fileobj)

    def drain(self):
        """Passes on what was printed before an answer, so that it is shown first."""
        for name in self.streams:
            self.hand_on(name)

    def ask(self, what, text):
        """Returns the answer to a request; None if the program has ended."""
        try:
            os.write(self.requests, (json.dumps({what: text}) + "\n").encode())
        except BrokenPipeError:
            return None
        line = b""
        while not line.endswith(b"\n"):
            part = os.read(self.answers, 65536)
            if not part:
                return None
            line += part
        self.drain()
        return json.loads(line)

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)  # as a terminal does, so that measured commands get it, too

    def close(self):
        os.close(self.requests)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()


class LpfmKernel(Kernel):
    implementation = "lpfm"
    implementation_version = "3.0"
    banner = "lpfm: performance counters with perfmon2. help() helps."
    language_info = {"name": "lua", "mimetype": "text/x-lua", "file_extension": ".lua", "version": "5.1"}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.program = Program(self.print_out)

    def pre_handler_hook(self):
        """Passes SIGINT on to lpfm while a request is handled."""
        self.saved_handler = signal.signal(signal.SIGINT, lambda *_: self.program.interrupt())

    def post_handler_hook(self):
        signal.signal(signal.SIGINT, self.saved_handler)

    def print_out(self, name, text):
        self.send_response(self.iopub_socket, "stream", {"name": name, "text": text})

    def failed(self, message):
        content = {"ename": "error", "evalue": message, "traceback": [message]}
        self.send_response(self.iopub_socket, "error", content)
        return dict(content, status="error", execution_count=self.execution_count)

    def start_anew(self):
        self.program.close()
        self.program = Program(self.print_out)

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False):
        reply = {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}
        if not code.strip():
            return reply
        answer = self.program.ask("run", code)
        if answer is None:
            self.start_anew()
            return self.failed("lpfm ended; variables and contexts are gone")
        if answer.get("quit"):
            self.start_anew()
        elif answer.get("failed"):
            return self.failed(answer["message"])
        elif answer.get("message"):
            self.print_out("stderr", answer["message"] + "\n")
        elif answer.get("data") and not silent:
            self.send_response(self.iopub_socket, "execute_result", {
                "data": answer["data"], "metadata": {}, "execution_count": self.execution_count})
        return reply

    def do_complete(self, code, cursor_pos):
        before = code[:cursor_pos]
        answer = self.program.ask("complete", before) or {"words": [], "from": len(before.encode())}
        start = len(before.encode()[:answer["from"]].decode(errors="replace"))
        return {"status": "ok", "matches": answer["words"] or [], "cursor_start": start, "cursor_end": cursor_pos,
                "metadata": {}}

    def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        name = re.search(r"[\w.:]*$", code[:cursor_pos]).group() + re.match(r"\w*", code[cursor_pos:]).group()
        answer = name and self.program.ask("inspect", name) or {}
        text = answer.get("text")
        return {"status": "ok", "found": bool(text), "data": {"text/plain": text} if text else {}, "metadata": {}}

    def do_is_complete(self, code):
        return self.program.ask("is_complete", code) or {"status": "unknown"}

    def do_shutdown(self, restart):
        self.program.close()
        return {"status": "ok", "restart": restart}


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=LpfmKernel)
