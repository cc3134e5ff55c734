import { beforeAll, describe, expect, it } from 'vitest';
import { codeOf, enrol, type Person } from '../../testing/test-people.ts';
import { useHabitat } from '../../testing/test-habitat.ts';

type Fields = Record<string, unknown>;

let admin: Person;
let editor: Person;
let beta: Person;

const { node, restart } = useHabitat();

beforeAll(async () => {
  admin = await enrol(node, 'admin-1', { workspace: 'acme', role: 'admin' });
  editor = await enrol(node, 'editor-1', { workspace: 'acme' });
  beta = await enrol(node, 'beta-1', { workspace: 'beta', role: 'admin' });
});

const deny = { harmPotential: 1 };
const isAllowed = (person: Person, action: string, entity?: string) =>
  person.call('governance_isAllowed', { action, ...(entity === undefined ? {} : { entity }) });

describe('governance_decide', () => {
  it('records the decision with its checks, and tells of it', async () => {
    const decided = await editor.call('governance_decide', { topic: 'ship', context: { requiresConsent: true } });
    expect(decided).toMatchObject({
      id: expect.stringMatching(/^gov_/),
      topic: 'ship',
      action: 'ship',
      allowed: false,
      reason: 'Consent required',
      reasons: ['Consent required'],
      checks: { consent: { assessed: true, passed: false }, nonHarm: { assessed: false, passed: true } },
      standing: false,
      at: expect.any(Number),
    });
    expect(await admin.call('governance_decide', { topic: 'ship' })).toMatchObject({
      allowed: true,
      reason: null,
      standing: true,
    });
    const told = await node.rows<Fields>(
      `SELECT workspace, payload FROM habitat.outbox WHERE name = 'governance:decided' ORDER BY written, line`,
    );
    expect(told).toMatchObject([
      { workspace: 'acme', payload: { decision: decided['id'], allowed: false, standing: false, by: 'editor-1' } },
      { workspace: 'acme', payload: { allowed: true, standing: true, by: 'admin-1' } },
    ]);
  });

  it('refuses what it cannot judge', async () => {
    const wrong: Fields[] = [
      { topic: '' },
      { topic: 'x'.repeat(201) },
      { topic: 't', context: { harmPotential: 1.1 } },
      { topic: 't', context: { harmPotential: '0.9' } },
      { topic: 't', context: { requiresConsent: 'yes' } },
      { topic: 't', context: { benefitScore: '1' } },
      { topic: 't', context: { note: 'x'.repeat(8192) } },
      { topic: 't', context: [] },
    ];
    for (const args of wrong)
      expect([args, await admin.code('governance_decide', args)]).toEqual([args, 'VAF_INPUT_INVALID']);
    const anonymous = node.call('governance_decide', { topic: 't' }, { operator: false, subject: {} });
    expect(await codeOf(anonymous)).toBe('UNAUTHORIZED');
  });

  it('decides a keyed call once', async () => {
    const decide = () => node.call('governance_decide', { topic: 'keyed' }, { idempotencyKey: 'k' });
    expect(await decide()).toEqual(await decide());
  });
});

describe('governance_isAllowed', () => {
  it('follows the latest decision that stands', async () => {
    expect(await isAllowed(editor, 'deploy')).toEqual({
      allowed: true,
      action: 'deploy',
      entity: 'editor-1',
      because: 'default',
    });
    const { id } = await admin.call('governance_decide', { topic: 'deploy', context: deny });
    expect(await isAllowed(editor, 'deploy')).toMatchObject({ allowed: false, because: `decision:${String(id)}` });
    await editor.call('governance_decide', { topic: 'deploy' });
    expect(await isAllowed(editor, 'deploy')).toMatchObject({ allowed: false });
    const later = await admin.call('governance_decide', { topic: 'deploy' });
    expect(await isAllowed(editor, 'deploy')).toMatchObject({
      allowed: true,
      because: `decision:${String(later['id'])}`,
    });
    await node.call('governance_decide', { topic: 'deploy', context: deny }, { subject: { workspace: 'acme' } });
    expect(await isAllowed(editor, 'deploy')).toMatchObject({ allowed: false });
  });

  it('lets a decision on one entity leave the others alone, and one workspace the other', async () => {
    await admin.call('governance_decide', { topic: 'fly', context: { ...deny, entity: 'editor-1' } });
    expect(await isAllowed(editor, 'fly')).toMatchObject({ allowed: false });
    expect(await isAllowed(editor, 'fly', 'admin-1')).toMatchObject({ allowed: true, because: 'default' });
    await beta.call('governance_decide', { topic: 'swim', context: deny });
    expect(await isAllowed(beta, 'swim')).toMatchObject({ allowed: false });
    expect(await isAllowed(editor, 'swim')).toMatchObject({ allowed: true, because: 'default' });
  });

  it('asks trust first', async () => {
    await admin.call('governance_decide', { topic: 'vote' });
    await node.call('trust_setRequired', { permission: 'vote', minTrust: 0.9 });
    expect(await isAllowed(editor, 'vote')).toMatchObject({ allowed: false, because: 'trust' });
    await node.call('trust_setRequired', { permission: 'vote', minTrust: 0 });
    expect(await isAllowed(editor, 'vote')).toMatchObject({ allowed: true });
    await node.call('trust_record', { entityId: 'editor-1', type: 'quarantine' });
    expect(await isAllowed(editor, 'vote')).toMatchObject({ allowed: false, because: 'quarantined' });
    await node.call('trust_record', { entityId: 'editor-1', type: 'release' });
  });
});

describe('what was decided', () => {
  it('is listed and counted within the workspace, and stays over a restart', async () => {
    const ofBeta = await beta.call('governance_history');
    expect((ofBeta['decisions'] as Fields[]).map(({ topic }) => topic)).toEqual(['swim']);
    const stats = await editor.call('governance_stats');
    const history = await editor.call('governance_history', { limit: 1000 });
    const decisions = history['decisions'] as Fields[];
    const denied = decisions.filter(({ allowed }) => allowed === false);
    expect(stats).toEqual({
      total: decisions.length,
      allowed: decisions.length - denied.length,
      denied: denied.length,
      allowRate: (decisions.length - denied.length) / decisions.length,
      reasons: { 'Consent required': 1, 'Harm potential too high': denied.length - 1 },
    });
    const all = await node.call('governance_stats');
    await restart();
    expect(await editor.call('governance_stats', {}, node)).toEqual(stats);
    expect(await node.call('governance_stats')).toEqual(all);
    const nobody = await enrol(node, 'gamma-1', { workspace: 'gamma' });
    expect(await nobody.call('governance_stats')).toEqual({
      total: 0,
      allowed: 0,
      denied: 0,
      allowRate: 0,
      reasons: {},
    });
  });

  it('is paged, newest first, nothing twice', async () => {
    const wanted = ((await node.call('governance_history', { limit: 1000 }))['decisions'] as Fields[]).map(
      ({ id }) => id,
    );
    const seen: unknown[] = [];
    let cursor: unknown;
    do {
      const page = await node.call('governance_history', { limit: 2, ...(cursor ? { cursor } : {}) });
      seen.push(...(page['decisions'] as Fields[]).map(({ id }) => id));
      cursor = page['nextCursor'];
    } while (cursor !== undefined);
    expect(seen).toEqual(wanted);
    expect(await codeOf(node.call('governance_history', { cursor: 'x' }))).toBe('VAF_INPUT_INVALID');
    expect(await codeOf(node.call('governance_history', { cursor: 'Yzp4' }))).toBe('VAF_INPUT_INVALID');
  });
});
