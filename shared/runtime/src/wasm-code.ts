/**
 * Import it for its effect, wherever WebAssembly may run for long (the embedded database), before the first module is compiled.
 *
 * A function is compiled anew by the optimizing compiler when it has run for eight times as long as V8 would wait: in a
 * start nothing earns back what that takes (half a second of processor time and 20 MB), and under load it comes within a second.
 *
 * Machine code of WebAssembly is kept until the process ends.
 * The V8 of Node 24 sometimes frees a shared import wrapper twice when it collects such code, and the process dies
 * with `Check failed: jit_page.has_value()` (https://github.com/nodejs/node/issues/66366; mended in Node 26). What is
 * kept instead is bounded by the size of the modules. The option is not allowed in NODE_OPTIONS, and here it holds
 * however the process was started.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--wasm-tiering-budget=100000000');
setFlagsFromString('--no-wasm-code-gc');
// Under memory pressure, of which it is told when garbage is released, V8 would drop the code of its baseline compiler too.
setFlagsFromString('--no-flush-liftoff-code');
