/** Deployments that vote together over a real NATS, each a process of its own. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Fields } from '../client.ts';
import { busOfOwn, type Deployment, deployment, hashAt, member, untilHeard } from '../instruments/deployments.ts';
import { EventSocket } from '../instruments/event-socket.ts';
import { followGuide, readGuide, settingsIn } from '../instruments/guide.ts';
import { verifies } from '../verifies.ts';

const GUIDE = join(import.meta.dirname, '..', '..', 'docs', 'federation.md');

async function listening({ target }: Deployment, events: readonly string[]): Promise<EventSocket> {
  const socket = await EventSocket.connect(target.place.gateways[0] ?? '');
  onTestFinished(() => socket.close());
  await socket.subscribe({ events: [...events] });
  return socket;
}

const heard = (socket: EventSocket, wanted: string, fields: Fields = {}, withinMs?: number) =>
  socket.until(
    wanted,
    ({ name, ...event }) => name === wanted && Object.entries(fields).every(([key, value]) => event[key] === value),
    withinMs,
  );

/** What `target` holds is put back afterwards as it is now. */
async function rewound({ target, environment }: Deployment, work: () => Promise<void>): Promise<void> {
  const { dataDir, root } = target.place;
  const kept = join(root, 'before');
  await target.everybody[0]?.kill();
  cpSync(dataDir, kept, { recursive: true });
  await target.revive(environment);
  await work();
  await target.everybody[0]?.kill();
  rmSync(dataDir, { recursive: true });
  cpSync(kept, dataDir, { recursive: true });
  rmSync(kept, { recursive: true });
  await target.revive(environment);
}

verifies(
  'agora:federation:three',
  async () => {
    const { url } = await busOfOwn();
    const [alpha, beta, gamma] = await Promise.all([
      deployment(member('alpha', 'al', url)),
      deployment(member('beta', 'bea', url)),
      deployment(member('gamma', 'gus', url)),
    ]);
    const socket = await listening(beta, ['agora:*']);
    for (const by of [alpha, beta, gamma]) {
      for (const node of ['alpha', 'beta', 'gamma']) {
        if (by.environment['SVC_NODE_NAME'] !== node) await untilHeard(by.caller, node);
      }
    }
    // And its voter say two things of one topic, if its owner shows nobody what it has said of it.
    const ofAlpha = await listening(alpha, ['vote:*']);
    const sealed = { options: ['yes', 'no'], minQuorum: 5, sealed: true, agentId: 'ann' };
    await alpha.caller.ok('consensus_create', { topic: 'twice', ...sealed });
    await rewound(gamma, async () => {
      await untilHeard(gamma.caller, 'alpha');
      await gamma.caller.ok('agora_vote', { node: 'alpha', topic: 'twice', outcome: 'yes' });
    });
    await untilHeard(gamma.caller, 'alpha');
    await gamma.caller.refused('E_ALREADY_VOTED', 'agora_vote', { node: 'alpha', topic: 'twice', outcome: 'no' });
    await heard(ofAlpha, 'vote:voided', { topic: 'twice', voter: 'gus', votes: 0 });
    await gamma.target.everybody[0]?.kill();
    await beta.caller.refused('SERVICE_UNAVAILABLE', 'agora_pull', { node: 'gamma', topic: 'lunch' });

    await alpha.caller.ok('consensus_create', { topic: 'lunch', options: ['yes', 'no'], agentId: 'ann' });
    await alpha.caller.ok('consensus_vote', { topic: 'lunch', choice: 'yes', agentId: 'ann' });
    await beta.caller.ok('agora_vote', { node: 'alpha', topic: 'lunch', outcome: 'yes' });
    await alpha.target.everybody[0]?.kill();
    await alpha.target.revive(alpha.environment);
    await beta.caller.ok('agora_pull', { node: 'alpha', topic: 'lunch' });
    expect(await hashAt(beta, 'lunch')).toBe(await hashAt(alpha, 'lunch'));
    await heard(socket, 'agora:pulled', { node: 'alpha' });

    // A copy of its data that an operator puts back makes a deployment sign the same place twice.
    await alpha.caller.ok('consensus_create', { topic: 'fork', options: ['yes', 'no'], agentId: 'ann' });
    await rewound(alpha, async () => {
      await alpha.caller.ok('consensus_vote', { topic: 'fork', choice: 'yes', agentId: 'ann' });
      await beta.caller.ok('agora_pull', { node: 'alpha', topic: 'fork' });
    });
    await alpha.caller.ok('consensus_vote', { topic: 'fork', choice: 'no', agentId: 'ben' });
    await alpha.caller.refused('E_LEDGER_FORK', 'agora_push', { node: 'beta', topic: 'fork' });
    await beta.caller.refused('E_LEDGER_FORK', 'agora_pull', { node: 'alpha', topic: 'fork' });
    await heard(socket, 'agora:disputed', { topic: 'fork' });

    await beta.caller.ok('agora_push', { node: 'alpha', topic: 'lunch' });
    await heard(socket, 'agora:pushed', { node: 'alpha' });
    await heard(socket, 'agora:left', { node: 'gamma' });
    await gamma.target.revive({ ...gamma.environment, SVC_NODE_SECRET: 'another secret than theirs' });
    await heard(socket, 'agora:rejected', { node: 'gamma', reason: 'signature' });
    await gamma.target.revive(gamma.environment);
    await heard(socket, 'agora:joined', { node: 'gamma' });
  },
  { only: 'embedded' },
);

verifies('agora:federation:alone', async ({ caller }) => {
  const user = caller();
  const asked: readonly (readonly [string, Fields])[] = [
    ['agora_vote', { node: 'beta', topic: 'lunch', outcome: 'yes', agentId: 'ann' }],
    ['agora_pull', { node: 'beta', topic: 'lunch' }],
    ['agora_push', { node: 'beta', topic: 'lunch' }],
  ];
  for (const [tool, args] of asked) {
    const refusal = await user.refused('E_NOT_CONFIGURED', tool, args);
    expect(refusal).toMatchObject({ reason: 'bus_not_configured' });
    expect(refusal['missing']).toContain('SVC_NODE_SECRET');
  }
  await user.refused('E_NO_AGENT', 'agora_vote', { node: 'beta', topic: 'lunch', outcome: 'yes' });
  expect(await user.ok('agora_sync_status')).toMatchObject({ configured: false, dispatchers: [] });
  expect(await user.ok('agora_nodes')).toMatchObject({ self: { configured: false, listening: false }, peers: [] });
});

verifies(
  'guides:federation',
  async () => {
    const { url } = await busOfOwn();
    const shown = settingsIn(GUIDE);
    expect(shown).toHaveLength(2);
    const [first, second] = await Promise.all(
      shown.map((settings) => deployment({ ...settings, SVC_NODE_BUS_URL: url })),
    );
    const addressOf = (of: Deployment | undefined) => of?.target.place.gateways[0] ?? '';
    const steps = readGuide(GUIDE).map((step) => ({
      ...step,
      commands: step.commands.replaceAll('http://127.0.0.1:4457', addressOf(second)),
    }));
    const answers = await followGuide(steps, addressOf(first));
    for (const [index, { answer, lines, line }] of steps.entries()) {
      const said = answers[index]?.at(-1) ?? '';
      const { result = {} } = (answer === null ? {} : JSON.parse(said)) as { result?: Fields };
      const { content = result } = result;
      if (answer !== null) expect(content, `line ${line}`).toMatchObject(answer as object);
      if (lines !== null) expect(said, `line ${line}`).toBe(lines.at(-1));
    }
  },
  { only: 'embedded' },
);
