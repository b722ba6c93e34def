-- SPDX-License-Identifier: MIT
-- Tests perfmon.ko in the emulated arm64 machine with four processors.
-- One interpreter: it only starts the machine.
-- Engine: an emulated machine.

require "support.emulated" "arm64 smp"
