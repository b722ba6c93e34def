-- SPDX-License-Identifier: MIT
-- perfmon.ko in the emulated x86-64 machine. Its PMU interrupts by NMI.
-- One interpreter: it only starts the machine.
-- Engine: an emulated machine; its emulator is built once.

require "support.emulated" "amd64"
