/** The command line `svc`; see toolchain/svc.mjs. */
import { runCli } from '@svc/cli/run.ts';
import { takeProcess } from './command-line.ts';

const { surroundings, signal } = takeProcess();
process.exitCode = await runCli(surroundings, signal);
