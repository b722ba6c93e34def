-- SPDX-License-Identifier: MIT
--- The real machine that specs use: perf or, in the emulated machine of spec/vm, linux
-- (perfmon.ko).
return os.getenv("LPFM_MACHINE") == "linux" and "linux" or "perf"
