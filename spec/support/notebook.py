# SPDX-License-Identifier: MIT
"""Asks a kernel through jupyter's own client: steps of JSON on standard input, a line each; outcomes on standard output.

    {"run": CODE}   {"run": CODE, "interrupt_at": TEXT printed}   {"complete": CODE}   {"inspect": CODE}   {"ready": CODE}
    {"kill": CODE that prints its process and goes on}
"""
import json
import os
import select
import sys

from jupyter_client.manager import start_new_kernel

TIMEOUT = 300  # s; only a hang takes longer, even on a busy machine


def reply(client, asked):
    while True:
        message = client.get_shell_msg(timeout=TIMEOUT)
        if message["parent_header"].get("msg_id") == asked:
            return message["content"]


def run(manager, client, step):
    # by default an error also aborts requests that are queued behind it, perhaps the next step
    asked = client.execute(step["run"], stop_on_error=False)
    out = {"printed": {}, "data": None}
    while True:
        message = client.get_iopub_msg(timeout=TIMEOUT)
        if message["parent_header"].get("msg_id") != asked:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            out["printed"][content["name"]] = out["printed"].get(content["name"], "") + content["text"]
            if step.get("interrupt_at") and step["interrupt_at"] in out["printed"].get("stdout", ""):
                step["interrupt_at"] = None
                manager.interrupt_kernel()
        elif kind == "execute_result":
            out["data"] = content["data"]
        elif kind == "error":
            out["error"] = content["evalue"]
        elif kind == "status" and content["execution_state"] == "idle":
            out["status"] = reply(client, asked)["status"]
            return out


def complete(_, client, step):
    return reply(client, client.complete(step["complete"]))


def inspect(_, client, step):
    return reply(client, client.inspect(step["inspect"]))


def ready(_, client, step):
    return reply(client, client.is_complete(step["ready"]))


def kill(manager, client, step):
    """The kernel dies without a word, while code runs that prints its process; does that end, too?"""
    client.execute(step["kill"])
    printed = ""
    while "\n" not in printed:
        printed += client.get_iopub_msg(timeout=TIMEOUT)["content"].get("text", "")
    process = os.pidfd_open(int(printed))
    manager.provisioner.process.kill()
    return {"ended": bool(select.select([process], [], [], TIMEOUT)[0])}


ASK = {"kill": kill, "run": run, "complete": complete, "inspect": inspect, "ready": ready}


def main():
    manager, client = start_new_kernel(startup_timeout=TIMEOUT, kernel_name="lpfm")
    for line in sys.stdin:
        step = json.loads(line)
        what = next(name for name in ASK if name in step)
        print(json.dumps(ASK[what](manager, client, step)), flush=True)
    client.stop_channels()
    manager.shutdown_kernel()


main()
