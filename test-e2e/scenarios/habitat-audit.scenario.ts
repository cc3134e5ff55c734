/** The audit: what is logged, who sees it, and that nothing in it is lost or doubled. */
import { hash } from 'node:crypto';
import { sortedJson } from '@svc/contract/canonical.ts';
import { expect } from 'vitest';
import { Caller, codeOf, type Fields } from '../client.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { DENIALS, DENIALS_WINDOW_S, REGISTRY_KILL_ROUNDS } from '../settings.ts';
import { killed } from '../targets/service-process.ts';
import { KEYED, ownTarget, REGISTRY_APART, verifies } from '../verifies.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

async function entriesOf(caller: Caller, args: Fields = {}): Promise<Fields[]> {
  const rows: Fields[] = [];
  for (let cursor: unknown; ; ) {
    const page = await caller.ok('svc_audit_list', {
      ...args,
      limit: 1000,
      ...(cursor === undefined ? {} : { cursor }),
    });
    rows.push(...(page['entries'] as Fields[]));
    if (page['nextCursor'] === undefined) return rows;
    cursor = page['nextCursor'];
  }
}

verifies('habitat:audit:log', async ({ place }) => {
  const { caller } = memberAt(await createMembers(place, 'admin'), 0);
  const one = await caller.ok('svc_audit_log', { type: 'x', data: '{"release":"1.2","apiKey":"k"}' });
  const two = await caller.ok('svc_audit_log', { event: 'x', data: 'plain' });
  await caller.fails('VAF_INPUT_INVALID', 'svc_audit_log', { event: 'x', type: 'x' });
  await caller.fails('VAF_INPUT_INVALID', 'svc_audit_log', { event: 'x', data: { text: 'x'.repeat(4096) } });
  const entries = await entriesOf(caller, { kind: 'user' });
  expect(entries).toMatchObject([
    { id: two['id'], seq: two['seq'], data: { value: 'plain' }, hash: two['hash'] },
    { id: one['id'], seq: one['seq'], data: { release: '1.2', apiKey: '[masked]' }, prevHash: one['prevHash'] },
  ]);
  for (const { prevHash, hash: own, ...rest } of entries) {
    expect(hash('sha256', String(prevHash) + sortedJson(rest), 'hex')).toBe(own);
  }
});

verifies('habitat:audit:concurrent', async ({ place, report }) => {
  const workspace = await createMembers(place, 'admin');
  const { caller } = memberAt(workspace, 0);
  const startedAt = performance.now();
  const operator = new Caller(place);
  const entry = { event: 'e', workspace: workspace.workspace };
  const log = (gateway: number) => operator.ok('svc_audit_log', entry, { gateway });
  const logged = await Promise.all(upTo(200).map((n) => log(n % 2)));
  report(`200 entries of one chain at once in ${Math.round(performance.now() - startedAt)} ms`);
  expect(new Set(logged.map(({ seq }) => seq)).size).toBe(200);
  // Beside what the system itself recorded of the workspace.
  const entries = await entriesOf(caller, { workspace: workspace.workspace });
  expect(entries.filter(({ event }) => event === 'e')).toHaveLength(200);
  const seqs = new Set(entries.map(({ seq }) => seq));
  expect(upTo(entries.length).filter((seq) => !seqs.has(seq))).toEqual([]);
  expect(await caller.ok('svc_audit_verify')).toMatchObject({ ok: true });
});

verifies('habitat:audit:limits', async ({ place }) => {
  const { members, workspace } = await createMembers(place, 'viewer', 'viewer', 'admin');
  const [loud, calm, admin] = members.map(({ caller }) => caller) as [Caller, Caller, Caller];
  const answers = await Promise.all(
    upTo(150).map((n) => loud.call('svc_audit_log', { event: 'e' }, { gateway: n % 2 })),
  );
  const codes = answers.map(codeOf);
  const logged = codes.filter((code) => code === null).length;
  // Twice as many when a minute begins meanwhile.
  expect(logged).toBeGreaterThanOrEqual(60);
  expect(logged).toBeLessThanOrEqual(120);
  expect(codes.filter((code) => code === 'E_QUOTA' || code === 'RATE_LIMITED')).toHaveLength(150 - logged);
  const { seq, hash: own } = await calm.ok('svc_audit_log', { event: 'e' });
  expect([seq, own]).toEqual([null, null]);
  const { entries } = await calm.ok('svc_audit_list', { workspace });
  expect(entries).toMatchObject([{ seq: null, prevHash: null, hash: null }]);
  const seen = await entriesOf(admin, { workspace, kind: 'user' });
  expect(seen).toHaveLength(logged + 1);
  expect(seen.every((entry) => Number(entry['seq']) > 0)).toBe(true);
});

verifies('habitat:audit:kinds', async ({ place, caller }) => {
  const workspace = await createMembers(place, 'editor');
  const { caller: editor, id } = memberAt(workspace, 0);
  await editor.ok('svc_audit_log', { event: 'token:revoked', data: { tokenId: 'tok_invented' } });
  const { token } = await caller().ok('svc_habitat_mintToken', { agentId: id });
  await caller().ok('svc_habitat_revokeToken', { tokenOrHash: token });
  const revocations = await waitFor(
    async () => {
      const entries = await entriesOf(caller(), { event: 'token:revoked' });
      const system = entries.filter(({ kind, data }) => kind === 'system' && (data as Fields)['agentId'] === id);
      return system.length > 0 ? entries : null;
    },
    { what: 'the entry of the revocation' },
  );
  const invented = revocations.filter(({ subject }) => (subject as Fields)['agentId'] === id);
  expect(invented).toMatchObject([{ kind: 'user', subject: { agentId: id, verified: true } }]);
});

verifies('habitat:audit:tenants', async ({ place }) => {
  const [acme, beta] = [await createMembers(place, 'admin', 'viewer'), await createMembers(place, 'admin')];
  const [admin, viewer, foreign] = [memberAt(acme, 0), memberAt(acme, 1), memberAt(beta, 0)];
  for (const { caller } of [admin, viewer, admin]) await caller.ok('svc_audit_log', { event: 'acme-only' });
  const seenBy = async (caller: Caller, args: Fields = {}) => {
    const { count, entries, ...rest } = await caller.ok('svc_audit_list', { event: 'acme-only', ...args });
    expect(count).toBe((entries as Fields[]).length);
    expect(rest).toEqual({});
    return count;
  };
  expect(await seenBy(admin.caller)).toBe(3);
  expect(await seenBy(viewer.caller)).toBe(1);
  expect(await seenBy(foreign.caller)).toBe(0);
  expect(await seenBy(foreign.caller, { workspace: acme.workspace })).toBe(0);
  await foreign.caller.fails('FORBIDDEN', 'svc_audit_verify', { workspace: acme.workspace });
  await foreign.caller.fails('FORBIDDEN', 'svc_audit_log', { event: 'x', workspace: acme.workspace });
  const { chains } = await foreign.caller.ok('svc_audit_verify');
  expect((chains as Fields[]).map(({ workspace }) => workspace)).toEqual([beta.workspace]);
});

verifies('habitat:audit:services', async ({ fresh }) => {
  const { user, brain } = await fresh();
  await user.ok('svc_lock', { action: 'acquire', agentId: 'holder', brain });
  await user.ok('svc_lock', { action: 'force', brain });
  const found = await waitFor(
    async () => {
      const entries = await entriesOf(user, { event: 'lease:forced' });
      return entries.find(({ data }) => (data as Fields)['brain'] === brain) ?? null;
    },
    { what: 'the entry of the forced lease' },
  );
  expect(found).toMatchObject({ kind: 'system', data: { holder: 'holder' } });
});

const target = ownTarget({}, { apart: REGISTRY_APART });
const EFFECTS = 12;

verifies(
  'habitat:audit:killed',
  async ({ report }) => {
    const { place, habitats } = target.get();
    const operator = new Caller(place);
    const impatient = new Caller(place, { headers: { 'x-svc-timeout-ms': '3000' } });
    const { workspace } = await createMembers(place);
    const users: string[] = [];
    for (let kill = 0; kill < REGISTRY_KILL_ROUNDS; kill += 1) {
      const round = upTo(EFFECTS).map((n) => `u-${kill}-${n}`);
      users.push(...round);
      const grants = round.map((userId) =>
        impatient
          .call('svc_habitat_addRole', { workspaceId: workspace, userId, role: 'viewer' })
          .then(codeOf)
          .catch(() => 'cut off'),
      );
      // The moment the first effect is acknowledged, its entry can hardly be in the chain.
      await Promise.race(grants);
      await killed(habitats);
      await Promise.all(grants);
      await target.get().whole();
    }
    const granted: string[] = [];
    for (const userId of users) {
      const { roles } = await operator.ok('svc_habitat_getUserRoles', { workspaceId: workspace, userId });
      if ((roles as string[]).length > 0) granted.push(userId);
    }
    const audited = async () =>
      (await entriesOf(operator, { workspace, event: 'role:granted' })).map(({ data }) =>
        String((data as Fields)['userId']),
      );
    const found = await waitFor(
      async () => {
        const names = await audited();
        return granted.every((userId) => names.includes(userId)) ? names : null;
      },
      { what: 'an entry of every effect' },
    );
    expect(granted.length).toBeGreaterThanOrEqual(REGISTRY_KILL_ROUNDS);
    expect(found.toSorted()).toEqual(granted.toSorted());
    expect(await operator.ok('svc_audit_verify')).toMatchObject({ ok: true });
    report(`${granted.length} of ${users.length} effects survived ${REGISTRY_KILL_ROUNDS} kills, each with one entry`);
  },
  { on: target, timeoutMs: 300_000 + REGISTRY_KILL_ROUNDS * 20_000 },
);

const FOLD_MS = DENIALS_WINDOW_S * 1000;

verifies(
  'habitat:audit:folding',
  async ({ gateways, report }) => {
    const place = await gateways(1, { ...KEYED, SVC_DENIALS_WINDOW_S: String(DENIALS_WINDOW_S) });
    const { caller, id } = memberAt(await createMembers(place, 'viewer'), 0);
    const startedAt = performance.now();
    for (let sent = 0; sent < DENIALS; sent += 100) {
      const replies = await Promise.all(
        upTo(100).map(() => caller.call('trust_setRequired', { permission: 'p', minTrust: 0 }, { gateway: 0 })),
      );
      expect(new Set(replies.map(codeOf))).toEqual(new Set(['FORBIDDEN']));
    }
    const tookMs = performance.now() - startedAt;
    const counted = await waitFor(
      async () => {
        const entries = await entriesOf(new Caller(place), { event: 'call:denied' });
        const mine = entries.filter(({ subject }) => (subject as Fields)['agentId'] === id);
        const counts = mine.map(({ data }) => Number((data as Fields)['count']));
        return counts.reduce((sum, count) => sum + count, 0) >= DENIALS ? counts : null;
      },
      { withinMs: 2 * FOLD_MS, everyMs: 500, what: 'every denial to be counted' },
    );
    report(`${DENIALS} denials in ${Math.round(tookMs)} ms are ${counted.length} entries`);
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(DENIALS);
    // A machine that takes longer than a window for them has one more for each.
    expect(counted.length).toBeLessThanOrEqual(2 + Math.floor(tookMs / FOLD_MS));
  },
  { timeoutMs: 300_000 },
);
