/** Which node a client on stdio means, and as whom it speaks. What is set wrongly is told at once, and to each request. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { credentialOf } from '@svc/cli/connection.ts';
import { connectionOf } from '@svc/client/connection.ts';
import { readConfig } from '@svc/runtime/config.ts';
import { StartProblem } from '@svc/runtime/start-problem.ts';
import type { DoorParts } from './door.ts';
import { joinNode } from './find-node.ts';
import type { Environment } from './start-node.ts';

/** For a node to be found, or started and ready. */
const NODE_WITHIN_MS = 60_000;
/** For a node elsewhere, which nobody starts from here; sooner than clients give up, and they would show no reason. */
const ELSEWHERE_WITHIN_MS = 20_000;
/** An address to read the credential with where a node has yet to be found. */
const ANY_ADDRESS = 'http://127.0.0.1';

export function wayTo(environment: Environment, warn: (sentence: string) => void): DoorParts {
  const query = profileQuery(environment);
  try {
    return { ...readWay(environment), query };
  } catch (error) {
    if (!(error instanceof StartProblem)) throw error;
    warn(error.message);
    return { join: () => Promise.reject(error), headers: {}, query, withinMs: 0 };
  }
}

/** Throws StartProblem. */
function readWay(environment: Environment): Omit<DoorParts, 'query'> {
  const headers = callerHeaders(environment);
  const address = nonEmpty(environment['SVC_URL']);
  if (address !== undefined) {
    const url = checked(() => connectionOf({ url: address }).shown, 'SVC_URL: ');
    return { join: async () => ({ url, leave: () => {} }), headers, withinMs: ELSEWHERE_WITHIN_MS };
  }
  const { config } = readConfig(environment, (path) => readFileSync(path, 'utf8'));
  const directory = resolve(config.SVC_DATA_DIR);
  const search = { directory, environment, withinMs: NODE_WITHIN_MS };
  return { join: () => joinNode(search), headers, withinMs: NODE_WITHIN_MS };
}

/** The credential of the client, else the key that the node itself is started with. Throws StartProblem. */
function callerHeaders(environment: Environment): DoorParts['headers'] {
  const { SVC_SESSION: session } = environment;
  return checked(
    () => connectionOf({ url: ANY_ADDRESS, ...credentialOf(environment), session: nonEmpty(session) }).headers,
  );
}

function checked<Value>(read: () => Value, where = ''): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError) throw new StartProblem(`${where}${error.message}`);
    throw error;
  }
}

function profileQuery({ SVC_PROFILE }: Environment): string {
  const profile = nonEmpty(SVC_PROFILE);
  return profile === undefined ? '' : `?profile=${encodeURIComponent(profile)}`;
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
