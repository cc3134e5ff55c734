// `node toolchain/run.mjs [options of Node] <entry> [arguments]`: see pinned-node.mjs.
import { root, runPinned } from './pinned-node.mjs';

runPinned(process.argv.slice(2), { cwd: root, withTools: true });
