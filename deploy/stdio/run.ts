/** `svc mcp`: nothing but the protocol on stdout; what an operator should know goes to stderr. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readConfig } from '@svc/runtime/config.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';
import { createBridge } from './bridge.ts';
import { createDoor } from './door.ts';
import { joinNode } from './find-node.ts';
import { splitLines } from './frames.ts';
import type { Environment } from './start-node.ts';

/** For a node to be found, or started and ready. */
const NODE_WITHIN_MS = 60_000;

/** Ends the process when stdin has ended and all is answered. */
export async function runStdio(given: Environment): Promise<void> {
  const environment = { ...given };
  const warn = (sentence: string): void => void process.stderr.write(`svc mcp: ${sentence}\n`);
  const door = createDoor({
    join: searchIn(environment, warn),
    headers: callerHeaders(environment),
    query: profileQuery(environment),
    withinMs: NODE_WITHIN_MS,
  });
  const bridge = createBridge({ door, write: (line) => void process.stdout.write(`${line}\n`), warn });
  // A client that left without a word is nobody to speak to.
  process.stdout.on('error', () => process.exit(0));
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => process.exit(0));
  const lines = splitLines();
  process.stdin.setEncoding('utf8');
  for await (const text of process.stdin) for (const line of lines.take(text as string)) bridge.take(line);
  for (const line of lines.take('\n')) bridge.take(line);
  await bridge.end();
  process.exit(0);
}

function searchIn(environment: Environment, warn: (sentence: string) => void): () => ReturnType<typeof joinNode> {
  const { SVC_URL: url } = environment;
  if (url !== undefined && url !== '') {
    const base = url.replace(/\/$/, '');
    return async () => ({ url: base, leave: () => {} });
  }
  try {
    const { config } = readConfig(environment, (path) => readFileSync(path, 'utf8'));
    const directory = resolve(config.SVC_DATA_DIR);
    return () => joinNode({ directory, environment, withinMs: NODE_WITHIN_MS });
  } catch (error) {
    if (!(error instanceof StartProblem)) throw error;
    warn(error.message);
    return () => Promise.reject(error);
  }
}

/** The credential of the client, else the key that the node itself is started with. */
function callerHeaders({ SVC_TOKEN, SVC_KEY, SVC_API_KEY, SVC_SESSION }: Environment): Record<string, string> {
  const credential = [SVC_TOKEN, SVC_KEY, SVC_API_KEY].find((given) => given !== undefined && given !== '');
  return {
    ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
    ...(SVC_SESSION === undefined || SVC_SESSION === '' ? {} : { 'x-svc-session': SVC_SESSION }),
  };
}

function profileQuery({ SVC_PROFILE }: Environment): string {
  return SVC_PROFILE === undefined || SVC_PROFILE === '' ? '' : `?profile=${encodeURIComponent(SVC_PROFILE)}`;
}
