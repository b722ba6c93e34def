-- SPDX-License-Identifier: MIT
-- perfmon.ko in the emulated machine of spec/vm: real counters, interrupts and context switches.

local function run(command)
   local pipe = assert(io.popen(command .. " 2>&1; echo \"status $?\""))
   local output = pipe:read("*a")
   pipe:close()
   return output, tonumber(output:match("status (%d+)%s*$"))
end

-- Why the machine cannot be had here; nil if it can.
local function obstacle()
   if os.getenv("LPFM_BUILD") == nil or io.open("/dev/perfmon") then
      return "inside such a machine already, or not started by spec/run"
   end
   local output, status = run("spec/vm/vm prepare")
   if status ~= 0 then
      return (output:gsub("%s*status %d+%s*$", ""))
   end
end

-- Lines "ok NAME" and "not ok NAME: why" of the guest.
local function results(output)
   local names, bad = {}, {}
   for line in output:gmatch("[^\n]+") do
      names[line:match("^ok (.+)$") or ""] = true
      bad[#bad + 1] = line:match("^not ok (.+)$")
   end
   return names, bad
end

local function passes(options, programs, expected)
   local output, status = run("spec/vm/run " .. options .. " " .. programs)
   local names, bad = results(output)
   assert.equal("", table.concat(bad, "\n"))
   for _, name in ipairs(expected) do
      assert.is_true(names[name], name .. " did not run:\n" .. output)
   end
   assert.equal(0, status, output)
end

local counting = {
   "self_is_exact", "all_counters_agree", "child_counts_what_it_counts_alone", "commands_reach_a_running_thread",
   "errors", "software_counters", "system_wide", "threads_can_be_left_out", "each_set_leaves_out_its_own",
}
local sampling = {
   "notification", "notification_by_sigio", "notification_by_a_real_time_signal", "signal_without_message",
   "buffer_fills", "mapping_rules", "memory_limits", "profile_has_the_right_shares",
   "randomized_profile_has_the_right_shares", "four_threads_are_profiled_at_once",
   "bias_is_cured_by_randomization", "storms_are_throttled", "blocking", "blocked_thread_is_freed",
}
local sets = {
   "time_switched_sets_scale", "timeouts_run_with_the_thread", "overflow_switches_after_n", "cascade",
   "masked_sets_wait",
}
local security = {
   "kernel_level_needs_permission", "foreign_threads_are_refused", "set_uid_programs_are_not_monitored",
   "an_exec_keeps_the_context", "descriptors_can_be_passed_on",
}

local names = {
   "the_manual_page_on_linux", "counts_by_name_on_linux", "samples_by_name_on_linux", "the_manual_page_on_perf",
   "counts_by_name_on_perf", "samples_by_name_on_perf",
}

local measure = {
   "second_stage_begins_at_instruction_50000", "second_stage_begins_at_instruction_500000",
   "second_stage_begins_at_instruction_4000000", "nothing_is_lost_after_500000", "cycles_are_twice_500000",
   "it_knows_when_500000", "a_stage_that_is_not_reached", "how_far_it_got", "a_stage_that_counts_nothing",
   "whichever_comes_first", "half_the_instructions", "until_the_nth", "many_events_take_turns", "estimate_r08:u",
   "estimate_r11:u", "estimate_instructions:u", "estimate_cycles:u", "randomized_by_the_tool",
   "randomized_by_the_interface", "a_cpu_counts_what_ran_there",
}

describe("perfmon.ko in an emulated machine", function()
   local why = obstacle()

   local function vm_it(name, ...)
      local args = { ... }
      it(name, function()
         if why then
            return pending(why)
         end
         passes(unpack(args))
      end)
   end

   vm_it("counts, exactly", "", "counting", counting)
   vm_it("samples and notifies", "", "sampling", sampling)
   vm_it("switches event sets", "", "sets", sets)
   vm_it("lets nobody see what is not theirs", "", "security", security)
   vm_it("knows events by name, as perf_event does there", "", "names", names)
   vm_it("begins a cascade's second stage at the n-th event, and estimates, and randomizes", "", "measure", measure)
   vm_it("counts on four processors", "-c 4 -t 300", "counting security", counting)
   vm_it("samples and notifies on four processors", "-c 4 -t 300", "sampling", sampling)
   vm_it("switches event sets on four processors", "-c 4 -t 300", "sets", sets)
   vm_it("bears whatever is done to it", "-t 300", "torture:5",
      { "nothing_breaks", "nothing_is_left", "it_still_counts_right", "the kernel is content" })
   vm_it("bears it on four processors that come and go", "-c 4 -t 300", "torture:3:2",
      { "nothing_breaks", "nothing_is_left", "it_still_counts_right", "the kernel is content" })
end)
