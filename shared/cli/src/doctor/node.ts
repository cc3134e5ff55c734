/** The node at the address: does it answer, does it know us, how is it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, UnreachableError } from '@svc/client/client.ts';
import { credentialOf } from '../connection.ts';
import { explain } from '../explain.ts';
import type { Surroundings } from '../surroundings.ts';
import { type Finding, fail, look, ok } from './finding.ts';

type Readiness = Awaited<ReturnType<Client['ready']>>;

/** A node that is starting, or was busy for a second, is asked again before it is told of. */
const LOOKS = 6;
const LOOK_AGAIN_MS = 500;

async function readiness(client: Client, signal: AbortSignal): Promise<Readiness> {
  let seen = await client.ready(signal);
  for (let looks = 1; !seen.ready && looks < LOOKS; looks += 1) {
    await sleep(LOOK_AGAIN_MS, undefined, { signal });
    seen = await client.ready(signal);
  }
  return seen;
}

export async function examineNode(
  surroundings: Surroundings,
  client: Client,
  isLocal: boolean,
  signal: AbortSignal,
): Promise<Finding[]> {
  let ready: Readiness;
  try {
    ready = await readiness(client, signal);
  } catch (error) {
    return [silence(error, client.url, isLocal)];
  }
  return [standing(client.url, ready), ...(await examineInside(surroundings, client, signal))];
}

function silence(error: unknown, url: string, isLocal: boolean): Finding {
  if (!(error instanceof UnreachableError)) return fail('node', explain(error).message, 'Look at its log.');
  if (!error.sent)
    return fail('node', error.message, isLocal ? 'Start one: svc start' : 'Is SVC_URL right, and the node running?');
  return fail(
    'node',
    `something answers at ${url}, and it is no node: ${error.message}`,
    isLocal ? 'Another program has this port: start the node on another one, svc start -p 4000.' : 'Is SVC_URL right?',
  );
}

function standing(url: string, { ready, checks, degraded }: Readiness): Finding {
  const failing = checks.filter(({ status }) => status === 'fail').map(({ name }) => name);
  if (!ready)
    return fail(
      'node',
      `at ${url} is not ready: ${failing.join(', ')}`,
      'It may be starting, or too busy: again in a moment; then its log tells.',
    );
  if (degraded.length > 0)
    return look(
      'node',
      `at ${url} serves, but not all is well: ${degraded.join(', ')}`,
      'svc status, and its log, tell more.',
    );
  return ok('node', `ready at ${url}`);
}

async function examineInside({ env, version }: Surroundings, client: Client, signal: AbortSignal): Promise<Finding[]> {
  const { key, token } = credentialOf(env);
  try {
    const { status } = await client.call('svc_framework_status', {}, { signal });
    const health = await client.call('svc_health', {}, { signal });
    const as = token !== undefined ? 'SVC_TOKEN' : key === undefined ? null : 'SVC_KEY';
    return [
      credential(status.keyed, as),
      status.version === version
        ? ok('version', `node and command line are both ${version}`)
        : look('version', `the node is ${status.version}, this is ${version}`, 'Update the older one.'),
      ...durability(status.durability),
      ...health.problems.map(({ code, text }) => look('brains', `${text} (${code})`, 'svc status tells more.')),
      ...health.brains.flatMap(({ name, problems }) =>
        problems.map(({ code, text }) =>
          look('brain', `${name}: ${text} (${code})`, 'docs/memory.md, docs/operations.md'),
        ),
      ),
    ];
  } catch (error) {
    const { message, code, advice } = explain(error);
    if (code === 'UNAUTHORIZED' || code === 'FORBIDDEN')
      return [fail('credential', `the node does not take yours: ${message}`, advice[0] ?? 'Set SVC_KEY or SVC_TOKEN.')];
    return [fail('calls', message, advice[0] ?? 'Its log tells more.')];
  }
}

function credential(isKeyed: boolean, as: string | null): Finding {
  if (!isKeyed) {
    const found = 'the node has no key: whoever reaches it on its machine is the operator';
    return look('credential', found, 'On a machine that others use, set SVC_API_KEY and start it again.');
  }
  return ok('credential', as === null ? 'none is needed for what was asked' : `${as} is taken`);
}

function durability(durability: string): Finding[] {
  if (durability === 'full') return [ok('durability', 'what is acknowledged survives a power cut')];
  return [ok('durability', 'one process: killed it loses nothing, a power cut can cost its last moments')];
}
