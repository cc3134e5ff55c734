/** `svc mcp`: nothing but the protocol on stdout; what an operator should know goes to stderr. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createBridge } from './bridge.ts';
import { createDoor } from './door.ts';
import { splitLines } from './frames.ts';
import type { Environment } from './start-node.ts';
import { wayTo } from './way.ts';

/** For a client that has said its last word and takes the answers slowly. */
const TAKEN_WITHIN_MS = 30_000;

/** Ends the process when stdin has ended and all is answered. */
export async function runStdio(given: Environment): Promise<void> {
  const environment = { ...given };
  const warn = (sentence: string): void => void process.stderr.write(`svc mcp: ${sentence}\n`);
  const door = createDoor(wayTo(environment, warn));
  const bridge = createBridge({ door, write: (line) => void process.stdout.write(`${line}\n`), warn });
  // A client that left without a word is nobody to speak to.
  process.stdout.on('error', () => process.exit(0));
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => process.exit(0));
  const lines = splitLines();
  process.stdin.setEncoding('utf8');
  for await (const text of process.stdin) for (const line of lines.take(text as string)) bridge.take(line);
  for (const line of lines.take('\n')) bridge.take(line);
  await bridge.end();
  await Promise.race([taken(process.stdout), sleep(TAKEN_WITHIN_MS)]);
  process.exit(0);
}

/** What a pipe has no room for yet would end with the process. */
function taken(output: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => void output.write('', () => resolve()));
}
