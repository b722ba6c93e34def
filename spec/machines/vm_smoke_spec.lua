-- SPDX-License-Identifier: MIT
-- Tests perfmon.ko in one boot of the emulated arm64 machine.
-- Smoke: vm_arm64_smp_spec.lua has all of it.
-- One interpreter: it only starts the machine.

require "support.emulated" "smoke"
