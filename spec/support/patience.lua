-- SPDX-License-Identifier: MIT
--- Seconds to wait for an expected event: so many that only a hang exceeds them, even under load.
return tonumber(os.getenv "LPFM_SPEC_PATIENCE") or 300
