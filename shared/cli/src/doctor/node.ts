/** The node at the address: does it answer, does it know us, how is it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, UnreachableError } from '@svc/client/client.ts';
import { credentialOf } from '../connection.ts';
import { explain } from '../explain.ts';
import type { Surroundings } from '../surroundings.ts';
import { type Finding, fail, look, ok } from './finding.ts';

type Readiness = Awaited<ReturnType<Client['ready']>>;

/** A node that is starting, or was busy for a second, is asked again before it is told of. */
const LOOKS_FOR_MS = 3000;
const LOOK_AGAIN_MS = 500;
/** One that takes a connection and says nothing for so long hangs. */
const SILENT_MS = 5000;
/** What is asked of a node that is ready, and of one whose services may be away. */
const ANSWERS_WITHIN_MS = 10_000;
const ANSWERS_SOON_MS = 2000;

async function readiness(client: Client, signal: AbortSignal): Promise<Readiness> {
  const look = (): Promise<Readiness> => client.ready(AbortSignal.any([signal, AbortSignal.timeout(SILENT_MS)]));
  const until = performance.now() + LOOKS_FOR_MS;
  let seen = await look();
  while (!seen.ready && performance.now() < until) {
    await sleep(LOOK_AGAIN_MS, undefined, { signal });
    seen = await look();
  }
  return seen;
}

export async function examineNode(
  surroundings: Surroundings,
  client: Client,
  isLocal: boolean,
  signal: AbortSignal,
): Promise<Finding[]> {
  let seen: Readiness;
  try {
    seen = await readiness(client, signal);
  } catch (error) {
    return [silence(error, client.url, isLocal)];
  }
  return [standing(client.url, seen), ...(await examineInside(surroundings, client, seen.ready, signal))];
}

function silence(error: unknown, url: string, isLocal: boolean): Finding {
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    const found = `what listens at ${url} says nothing for ${SILENT_MS / 1000} s`;
    return fail('node', found, 'If it is a node, it hangs: look at its log, end it and start it again.');
  }
  if (!(error instanceof UnreachableError)) return fail('node', explain(error).message, 'Look at its log.');
  if (!error.sent && url.startsWith('https:'))
    return fail('node', error.message, 'Is SVC_URL right, and its authority one that NODE_EXTRA_CA_CERTS names?');
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
  if (!ready) return fail('node', `at ${url} is not ready: ${failing.join(', ')}`, adviceFor(checks, failing));
  if (degraded.length > 0)
    return look(
      'node',
      `at ${url} serves, but not all is well: ${degraded.join(', ')}`,
      'svc status, and its log, tell more.',
    );
  return ok('node', `ready at ${url}`);
}

/** The gateways of a cluster have a check of NATS, through which they reach all services. */
function adviceFor(checks: Readiness['checks'], failing: readonly string[]): string {
  if (failing.length > 1 && checks.some(({ name }) => name === 'nats'))
    return 'Look at NATS first, through which all services are reached, then at the log of those named.';
  return 'It may be starting, or too busy: again in a moment; then its log tells.';
}

/** Of a node that is not ready, only what it tells soon: that its services do not answer was said already. */
async function examineInside(
  { env, version }: Surroundings,
  client: Client,
  isReady: boolean,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { key, token } = credentialOf(env);
  const patience = isReady
    ? { signal, timeoutMs: ANSWERS_WITHIN_MS }
    : { signal, timeoutMs: ANSWERS_SOON_MS, repeat: 'never' as const };
  try {
    const { status } = await client.call('svc_framework_status', {}, patience);
    const health = await client.call('svc_health', {}, patience);
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
    return isReady ? [fail('calls', message, advice[0] ?? 'Its log tells more.')] : [];
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
