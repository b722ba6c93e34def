-- SPDX-License-Identifier: MIT
-- perfmon.ko in the emulated arm64 machine.
-- One interpreter: it only starts the machine.
-- Engine: an emulated machine.

require "support.emulated" "arm64"
