// Replaces the processes of a role one by one, so that no call fails: each is ready again before the next one goes.
//   roll.ts compose ROLE…                  containers of docker-compose.yml: a new one beside each old one, then the old one ends
//   roll.ts each URL COMMAND [URL COMMAND…]  any supervisor: COMMAND restarts the process whose health port is at URL
import { execFile, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { ROLES } from './services.ts';

const { values, positionals } = parseArgs({
  options: { 'within-ms': { type: 'string', default: '120000' }, 'settle-ms': { type: 'string', default: '3000' } },
  allowPositionals: true,
});
const withinMs = Number(values['within-ms']);
/** What was started is known to all gateways, and what has ended is missed by none, before the next one goes. */
const settleMs = Number(values['settle-ms']);
const ASK_EVERY_MS = 200;
const ASK_WITHIN_MS = 2000;
/** Longer than a process takes to drain. */
const STOP_WITHIN_S = '30';

const docker = async (...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)('docker', args)).stdout.trim();
const tell = (text: string): void => void process.stdout.write(`${text}\n`);

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  while (!(await isSo())) {
    if (Date.now() > giveUpAt) throw new Error(`${what} within ${withinMs} ms: nothing further is replaced`);
    await sleep(ASK_EVERY_MS);
  }
}

async function containersOf(role: string, ...options: readonly string[]): Promise<string[]> {
  const ids = await docker('compose', 'ps', ...options, '--quiet', role);
  return ids === '' ? [] : ids.split('\n');
}

/** Two servers beside each other would write into the same files. */
function requireRoles(roles: readonly string[]): void {
  const other = roles.find((role) => !ROLES.includes(role));
  if (other !== undefined) throw new Error(`${other} is not replaced one by one, only ${ROLES.join(', ')} are`);
}

const isHealthy = async (id: string): Promise<boolean> =>
  (await docker('inspect', '--format', '{{.State.Health.Status}}', id)) === 'healthy';

async function rollContainers(role: string): Promise<void> {
  const old = await containersOf(role);
  if (old.length === 0) throw new Error(`no container of ${role} runs`);
  // it would be started in the place of a new one
  if ((await containersOf(role, '--all')).length > old.length) {
    throw new Error(`a container of ${role} is stopped: start it, or remove it with docker compose rm ${role}`);
  }
  for (const [index, id] of old.entries()) {
    const before = new Set(await containersOf(role));
    await docker(
      'compose',
      'up',
      '--detach',
      '--no-deps',
      '--no-recreate',
      '--scale',
      `${role}=${before.size + 1}`,
      role,
    );
    const made = (await containersOf(role)).find((one) => !before.has(one));
    if (made === undefined) throw new Error(`no new container of ${role} was made`);
    const short = made.slice(0, 12);
    await until(`${role} ${short} (docker logs ${short}; docker rm --force ${short}) is not healthy`, () =>
      isHealthy(made),
    );
    await sleep(settleMs);
    await docker('stop', '-t', STOP_WITHIN_S, id);
    await docker('rm', id);
    tell(`${role} ${index + 1} of ${old.length} is replaced`);
    await sleep(settleMs);
  }
}

interface Standing {
  readonly isReady: boolean;
  /** When it started, ms since the epoch; null = it does not answer. */
  readonly startedAt: number | null;
}

async function standingAt(url: string): Promise<Standing> {
  const ask = (path: string) => fetch(`${url}${path}`, { signal: AbortSignal.timeout(ASK_WITHIN_MS) });
  try {
    const [ready, health] = await Promise.all([ask('/ready'), ask('/health')]);
    const { uptime } = (await health.json()) as { uptime: number };
    await ready.body?.cancel();
    return { isReady: ready.ok, startedAt: Date.now() - uptime * 1000 };
  } catch {
    return { isReady: false, startedAt: null };
  }
}

function restart(command: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn('/bin/sh', ['-c', command], { stdio: 'inherit' });
  child.once('error', reject);
  child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${command}: exit code ${code}`))));
  return promise;
}

async function rollEach(pairs: readonly string[]): Promise<void> {
  if (pairs.length === 0 || pairs.length % 2 === 1) throw new Error('each address needs its command');
  for (let index = 0; index < pairs.length; index += 2) {
    const [url = '', command = ''] = pairs.slice(index, index + 2);
    await until(`${url} is not ready, so it is not replaced`, async () => (await standingAt(url)).isReady);
    const askedAt = Date.now();
    await restart(command);
    await until(`${url} is not ready again`, async () => {
      const { isReady, startedAt } = await standingAt(url);
      return isReady && startedAt !== null && startedAt > askedAt;
    });
    tell(`${url} is replaced`);
    await sleep(settleMs);
  }
}

try {
  const [how, ...what] = positionals;
  if (how === 'compose' && what.length > 0) {
    requireRoles(what);
    for (const role of what) await rollContainers(role);
  } else if (how === 'each') await rollEach(what);
  else throw new Error('usage: roll.ts compose ROLE… | roll.ts each URL COMMAND [URL COMMAND…]');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
