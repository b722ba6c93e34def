-- SPDX-License-Identifier: MIT
-- Makes the step of a loop over samples: a Lua function that LuaJIT compiles, and that does what
-- next_fields() of samples/fields.c does. If the state is stale or belongs to another loop, or a
-- sample is not within the buffer, the step calls next_fields(), which handles this or raises an
-- error.
--
-- Loops with the same layout of samples and the same places of fields share one function, so that
-- LuaJIT compiles it once. samples/fields.c contains this file, and calls it with the C types of a
-- loop's state and of struct lpfm_ref, the metatable of states, next_fields, and lpfm.u64. It gets
-- compile(state) and jit.status; in PUC Lua it gets nothing.
local state_type, ref_type, class, next_fields, u64 = ...
local jit, debug = rawget(_G, "jit"), rawget(_G, "debug")
local found, ffi = pcall(require, "ffi")
if not (jit and found and debug) then
   return
end

local cast, int64 = ffi.cast, ffi.typeof("int64_t")

-- Returns a number if it is exact when the value is read as signed, else an lpfm.u64 object.
local function exact(value)
   local signed = cast(int64, value)
   if signed >= -2 ^ 53 and signed <= 2 ^ 53 then
      return tonumber(signed)
   end
   return u64(value)
end

local env = {
   cast = cast, exact = exact, tonumber = tonumber, class = class, class_of = debug.getmetatable,
   next_fields = next_fields, state_type = ffi.typeof(state_type), ref_type = ffi.typeof(ref_type),
   [2] = ffi.typeof("const uint16_t *"), [4] = ffi.typeof("const uint32_t *"), [8] = ffi.typeof("const uint64_t *"),
}

-- Before a step, w.next points to the sample. The step copies this pointer to `at`, and moves
-- w.next to the sample's end.
local STEP = [[
local env, kind, entry = ...
local cast, exact, tonumber, class, class_of = env.cast, env.exact, env.tonumber, env.class, env.class_of
local next_fields, state_type, ref_type, u16, u32, u64 =
   env.next_fields, env.state_type, env.ref_type, env[2], env[4], env[8]
return function(state)
   if class_of(state) ~= class then return next_fields(state) end
   local w = cast(state_type, state)
   if w.kind ~= kind or w.epoch ~= w.now[0] then return next_fields(state) end
   $again
      if w.index >= w.count then return end
      local at, limit = w.next, w.limit
      $turn
      local after = at + w.size
      if after > limit then return next_fields(state) end
      w.next, w.index = after, w.index + 1
      $test
      return $results
   $done
end]]

local TURN = [[if at + %d > limit then return next_fields(state) end
      if cast(u16, at + %d)[0] * 65536 + cast(u16, at + %d)[0] ~= w.key then w.turn(w) end]]

-- Returns code that reads a field or PMD of the sample; and code that tests for it, "" for a field.
local function term(ref, list, i)
   if ref.is_pmd ~= 0 then
      return ("cast(u64, at + cast(ref_type, w.%s)[%d].offset)[0]"):format(list, i),
         ("cast(ref_type, w.%s)[%d].width ~= 0 and "):format(list, i)
   end
   return ("cast(u%d, at + %d)[0]"):format(ref.width * 8, ref.offset), ""
end

local function results(w)
   local refs, terms = cast(env.ref_type, w.refs), {}
   for i = 0, w.num_refs - 1 do
      local value, if_there = term(refs[i], "refs", i)
      local narrow = refs[i].is_pmd == 0 and refs[i].width < 8
      terms[i + 1] = if_there .. (narrow and value or ("exact(%s)"):format(value))
   end
   return table.concat(terms, ", ")
end

local function condition(w)
   local tests, terms = cast(env.ref_type, w.tests), {}
   for i = 0, w.num_tests - 1 do
      local value, if_there = term(tests[i], "tests", i)
      terms[i + 1] = ("%s%s == w.values[%d]"):format(if_there, value, i)
   end
   return table.concat(terms, " and ")
end

local function generate(w, values, entry)
   local test = condition(w)
   local text = STEP:gsub("%$(%w+)", {
      turn = w.fixed ~= 0 and "" or TURN:format(w.head_size, w.set_at, w.pmd_at),
      again = test ~= "" and "while true do" or "",
      test = test ~= "" and ("if %s then"):format(test) or "",
      results = values and values:gsub("%$head", w.head_size) or results(w),
      done = test ~= "" and "end end" or "",
   })
   return assert(loadstring(text, "=lpfm.step"))(env, w.kind, entry)
end

local entries = {} -- the steps that were made for `values`, by kind and values

-- Returns the step for loops like that of the state. If `values` is given, it is code that the step
-- evaluates instead of reading fields; this code may use the C type `entry`.
local function compile(state, values, entry)
   assert(env.class_of(state) == class, "no state of a loop over fields")
   local w = cast(env.state_type, state)
   if not values then
      return generate(w)
   end
   local key = ("%s %s %s"):format(tostring(w.kind), values, entry)
   entries[key] = entries[key] or generate(w, values, ffi.typeof(entry))
   return entries[key]
end

return compile, jit.status
