/**
 * What the tests of a run have seen from outside: which codes each tool answered, which events a client heard. With
 * SVC_TEST_SEEN, a folder, each process adds what is new to it to a file of its own, a line each; `toolchain/provoked.ts` holds
 * them against what is declared.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.env['SVC_TEST_SEEN'];
const known = new Set<string>();

export function sawCode(tool: string, code: string): void {
  saw(`${tool} ${code}`);
}

export function sawEvent(name: string): void {
  saw(`event ${name}`);
}

/** Tests were left out for want of it: such a run is no measure of what the tests provoke. */
export function wentWithout(what: string): void {
  saw(`without ${what}`);
}

function saw(line: string): void {
  if (folder === undefined || known.has(line)) return;
  known.add(line);
  appendFileSync(join(folder, `${process.pid}.txt`), `${line}\n`);
}
