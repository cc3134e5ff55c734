/** Whom a brain took over from, and what stays over restarts. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Caller } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import type { OwnTarget } from '../targets/target.ts';
import { newName, ownTarget, REGISTRY_APART, verifies } from '../verifies.ts';

verifies('habitat:succession:fresh', async ({ caller }) => {
  expect(await caller().ok('svc_succession_info')).toMatchObject({
    trustLevel: 'medium',
    currentVersion: 3,
    previousBrain: null,
    trust: { start: 0.5, positive: 0.05, negative: 0.1, decayPer30d: 0.01 },
  });
});

verifies('habitat:succession:required', async ({ caller }) => {
  const permission = newName('vote');
  await caller().ok('trust_setRequired', { permission, minTrust: 0.6 });
  expect(await caller().ok('svc_succession_info')).toMatchObject({
    trust: { required: { default: 0.3, [permission]: 0.6 } },
  });
});

const target = ownTarget(
  async () => {
    const root = mkdtempSync(join(tmpdir(), 'svc-e2e-legacy-'));
    mkdirSync(join(root, 'old', 'lessons'), { recursive: true });
    writeFileSync(join(root, 'old', 'lessons', 'first.md'), 'a lesson\n');
    return {
      environment: { SVC_LEGACY_DIR: join(root, 'old') },
      async dispose() {
        rmSync(root, { recursive: true });
      },
    };
  },
  { fresh: { gateways: 1, replicas: 1 }, apart: REGISTRY_APART },
);

/** Ends every process behind the doors well and starts it again. */
async function restart({ habitats, brains, place }: OwnTarget): Promise<void> {
  for (const process of new Set([...habitats, ...brains])) {
    await process.stop();
    await process.start();
  }
  const answers = async () => (await new Caller(place).call('svc_succession_info')).status === 200;
  await waitFor(answers, { what: 'the node to answer again', ignoreErrors: () => true });
}

verifies(
  ['habitat:succession:import', 'habitat:governance:restart'],
  async () => {
    const { place } = target.get();
    const operator = new Caller(place);
    const previousBrain = async () => (await operator.ok('svc_succession_info')).previousBrain === 'old';
    await waitFor(previousBrain, { what: 'the import to be told' });
    const admin = memberAt(await createMembers(place, 'admin'), 0).caller;
    await admin.ok('governance_decide', { topic: 'deploy', context: { harmPotential: 0.7 } });
    await admin.ok('governance_decide', { topic: 'ship' });
    await admin.ok('governance_decide', { topic: 'ship', context: { benefitScore: 0 } });
    const [stats, history] = [await admin.ok('governance_stats'), await admin.ok('governance_history')];
    expect(stats).toEqual({
      total: 3,
      allowed: 1,
      denied: 2,
      allowRate: 1 / 3,
      reasons: { 'Harm potential too high': 1, 'No net benefit': 1 },
    });
    await restart(target.get());
    expect(await admin.ok('governance_stats')).toEqual(stats);
    expect(await admin.ok('governance_history')).toEqual(history);
    expect(await admin.ok('governance_isAllowed', { action: 'deploy' })).toMatchObject({ allowed: false });
    expect(await operator.ok('svc_succession_info')).toMatchObject({ previousBrain: 'old' });
  },
  { on: target },
);
