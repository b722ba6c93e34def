// SPDX-License-Identifier: MIT
// The page's script: trees of the stacks that are selected, from the root or from the leaves, of all or around one
// function.

const LONGEST = 8; // frames of a cycle that is folded

// Returns a path without repetitions: a a b c b c d -> a b c d. It still has each function, so that
// totals stay the same.
function folded(path) {
   const out = [];
   const repeats = (n) => {
      for (let i = out.length - n; i < out.length; i++) if (out[i] !== out[i - n]) return false;
      return true;
   };
   for (const frame of path) {
      out.push(frame);
      for (let n = 1; n <= LONGEST && 2 * n <= out.length; n++) {
         if (repeats(n)) { out.length -= n; break; }
      }
   }
   return out;
}

// Returns the frames on the way to a node of the data, the outermost first.
function pathTo(node) {
   const out = [];
   for (let at = node; at > 0; at = parent[at]) out.unshift(frameOf[at]);
   return state.fold ? folded(out) : out;
}

function newNode(frame, above) {
   return { frame, above, children: new Map(), total: 0, samples: 0, self: 0, selfSamples: 0 };
}

// Makes the tree of the selected stacks; part(path) returns the frames from the root on, or null
// to leave the stack out.
function grow(name, part) {
   const root = newNode(-1, null);
   root.name = name;
   for (let node = 0; node < nodes; node++) {
      if (sums.selfSamples[node] === 0) continue;
      const path = part(pathTo(node));
      if (!path) continue;
      let at = root;
      at.total += sums.self[node];
      at.samples += sums.selfSamples[node];
      for (const frame of path) {
         if (!at.children.has(frame)) at.children.set(frame, newNode(frame, at));
         at = at.children.get(frame);
         at.total += sums.self[node];
         at.samples += sums.selfSamples[node];
      }
      at.self += sums.self[node];
      at.selfSamples += sums.selfSamples[node];
   }
   return root;
}

const nameOf = (node) => node.frame < 0 ? node.name : frames.name[node.frame];

// Returns a node's children in the order of their names, which does not change with the selection.
function childrenOf(node) {
   return Array.from(node.children.values()).sort((a, b) => nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1
      : a.frame - b.frame);
}

const fromRoot = () => grow("all", (path) => path);
const fromLeaves = () => grow("all", (path) => path.reverse());

// If a function calls itself, its outermost call counts, so that each sample is counted once.
const outermost = (path, f) => path.findIndex((frame) => functionOf[frame] === f);
function callersOf(f) {
   return grow(functions[f], (path) => {
      const at = outermost(path, f);
      return at < 0 ? null : path.slice(0, at).reverse();
   });
}
function calleesOf(f) {
   return grow(functions[f], (path) => {
      const at = outermost(path, f);
      return at < 0 ? null : path.slice(at + 1);
   });
}
