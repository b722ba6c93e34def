-- SPDX-License-Identifier: MIT
-- Tests perfmon.ko in the emulated x86-64 machine, in which overflows are NMIs.
-- One interpreter: it only starts the machine.
-- Engine, first: an emulated machine; its emulator is built once.

require "support.emulated" "amd64"
