#!/usr/bin/env node
// The command line, where the person stands and with their PATH: editors and shells are theirs.
import { runPinned } from './pinned-node.mjs';

runPinned(['deploy/svc.ts', ...process.argv.slice(2)], { cwd: process.cwd(), withTools: false });
