/** The Model Context Protocol on stdin and stdout, through the node of the data directory: `svc mcp`. */
import { runStdio } from './stdio/run.ts';

await runStdio(process.env);
