-- SPDX-License-Identifier: MIT
--- The machine that specs of a real one use: perf_event's; in the emulated machine of spec/vm, perfmon.ko.
return os.getenv("LPFM_MACHINE") == "linux" and "linux" or "perf"
