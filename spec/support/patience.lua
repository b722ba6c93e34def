-- SPDX-License-Identifier: MIT
--- Seconds to wait for what has to come. It only catches a hang: a machine under load must not reach it.
return tonumber(os.getenv "LPFM_SPEC_PATIENCE") or 300
