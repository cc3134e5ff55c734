/** The guide to operations does what it says: every command that needs no container is pasted into a shell. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { startNats } from '@svc/testing/servers/nats.ts';
import { freePort } from '@svc/testing/servers/ports.ts';
import { startPostgres } from '@svc/testing/servers/postgres.ts';
import { temporaryFolder } from '@svc/testing/servers/processes.ts';
import { startRedis } from '@svc/testing/servers/redis.ts';
import { expect, onTestFinished } from 'vitest';
import { followGuide, type GuideStep, readGuide } from '../instruments/guide.ts';
import { verifies } from '../verifies.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Whose ports the guide counts from 4001 on. */
const PROCESSES = 5;

/** What stands in the guide, and what it is here. */
type Change = readonly [string | RegExp, string];

/** The addresses and places of this machine in the place of those of the guide. */
async function hereInstead(folder: string): Promise<readonly Change[]> {
  const servers = await Promise.all([startNats(), startRedis(), startPostgres()]);
  onTestFinished(async () => {
    await Promise.all(servers.map(async (server) => server?.stop()));
  });
  const [nats, redis, postgres] = servers.map((server) => server?.url ?? '');
  const ports = await Promise.all(Array.from({ length: PROCESSES }, async () => String(await freePort())));
  return [
    ['nats://127.0.0.1:4222', nats ?? ''],
    ['redis://127.0.0.1:6379', redis ?? ''],
    ['postgresql://svc@127.0.0.1:5432/svc', postgres ?? ''],
    [/(?:\$PWD\/)?\bcluster\b/g, join(folder, 'cluster')],
    ['3457', String(await freePort())],
    ...ports.map((port, index) => [String(4001 + index), port] as Change),
  ];
}

function replaced({ commands, ...step }: GuideStep, changes: readonly Change[]): GuideStep {
  return { ...step, commands: changes.reduce((text, [from, to]) => text.replaceAll(from, to), commands) };
}

verifies(
  'guides:operations',
  async () => {
    const folder = temporaryFolder('operations-guide');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const changes = await hereInstead(folder);
    const steps = readGuide(join(ROOT, 'docs', 'operations.md')).map((step) => replaced(step, changes));
    expect(steps.length).toBeGreaterThan(4);
    const environment = {
      commands: `cd '${ROOT}'; export SVC_DRAIN_WAIT_MS=0 SVC_BIND=127.0.0.1
        # the toolchain hands SIGTERM on, as to any supervisor's child
        trap 'for pid in $(cat ${folder}/cluster/*.pid); do kill $pid && tail --pid=$pid -f /dev/null; done' EXIT`,
      answer: null,
      lines: null,
      line: 0,
    };
    const answers = await followGuide([environment, ...steps], '');
    const shown = steps.flatMap(({ answer, line }, index) =>
      answer === null ? [] : [{ answer, line, said: answers[index + 1]?.at(-1) ?? '' }],
    );
    expect(shown).toHaveLength(2);
    for (const { answer, line, said } of shown) {
      const { result } = JSON.parse(said) as { result?: { content: object } };
      expect(result?.content, `operations.md, line ${line}: ${said}`).toMatchObject(answer as object);
    }
  },
  { only: 'cluster', timeoutMs: 400_000 },
);
